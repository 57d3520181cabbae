import { latencyText } from '../format/dates.ts';
import type { CallState, ShownPart } from '../format/message-parts.ts';
import type { Tone } from '../state/toasts.ts';
import { texts } from '../texts.ts';
import { Badge } from './badge.tsx';
import { JsonValue } from './json-value.tsx';
import { SafeLine, SafeText } from './safe-text.tsx';

const words = texts.messages;

const TONES: Readonly<Record<CallState, Tone>> = {
  pending: 'warning',
  running: 'plain',
  completed: 'good',
  error: 'bad',
};

type ToolPart = Extract<ShownPart, { readonly kind: 'tool' }>;

const hasEntries = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).length > 0;

/** A call of a tool: what it is and how far, and folded away what it was called with and what came back. */
const ToolCall = ({ part, agent }: { readonly part: ToolPart; readonly agent: number | undefined }) => {
  const { tool, state, input, output, error, durationMs, task } = part;
  const result = error ?? output;
  const head = (
    <>
      <code>
        <SafeLine text={tool === '' ? words.unnamedTool : tool} limit={120} />
      </code>
      <Badge tone={TONES[state]}>{words.states[state]}</Badge>
      {durationMs === undefined ? null : <span class="muted">{latencyText(durationMs)}</span>}
    </>
  );
  // The bridge's stream says that a call runs, and not with what.
  if (input === undefined && result === undefined) return <p class="tool-call-head">{head}</p>;
  return (
    <details class="tool-call">
      <summary>{head}</summary>
      <div class="tool-call-body">
        {task === undefined || agent === undefined ? null : (
          <p>
            <a href={`/sessions/${agent}/${task}`}>{words.openTask}</a>
          </p>
        )}
        <h4 class="label">{words.input}</h4>
        {hasEntries(input) ? <JsonValue value={input} /> : <p class="muted">{words.noInput}</p>}
        {result === undefined ? null : (
          <>
            <h4 class="label">{error === undefined ? words.output : words.error}</h4>
            <SafeText text={result} isCode />
          </>
        )}
      </div>
    </details>
  );
};

type PartProps = { readonly part: ShownPart; readonly foldedChars: number; readonly agent: number | undefined };

const Part = ({ part, foldedChars, agent }: PartProps) => {
  switch (part.kind) {
    case 'text':
      return part.text === '' ? null : <SafeText text={part.text} foldedChars={foldedChars} />;
    case 'reasoning':
      return part.text === '' ? null : (
        <details class="reasoning">
          <summary class="muted">{words.reasoning}</summary>
          <SafeText text={part.text} />
        </details>
      );
    case 'tool':
      return <ToolCall part={part} agent={agent} />;
    case 'file':
      return (
        <p class="muted">
          {words.file} <SafeLine text={part.name === '' ? part.type : `${part.name} (${part.type})`} limit={160} />
        </p>
      );
    case 'retry':
      return (
        <p class="muted">
          {words.retry(part.attempt)} <SafeLine text={part.message} />
        </p>
      );
    case 'compaction':
      return <p class="muted">{words.compaction}</p>;
    case 'unknown':
      return <JsonValue value={part.value} />;
    default:
      return part satisfies never;
  }
};

type MessagePartsProps = {
  readonly parts: readonly ShownPart[];
  /** Where longer texts are folded. */
  readonly foldedChars?: number;
  /** The agent server of the session, where that is known: tasks are sessions of the same. */
  readonly agent?: number | undefined;
};

/** The parts of a message in their order: texts, reasoning, and calls of tools with their state. */
export const MessageParts = ({ parts, foldedChars = 8000, agent }: MessagePartsProps) => (
  <div class="message-parts">
    {parts.map((part) => (
      <Part key={part.id} part={part} foldedChars={foldedChars} agent={agent} />
    ))}
  </div>
);
