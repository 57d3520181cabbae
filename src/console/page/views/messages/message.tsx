import type { MessagePart, SessionMessage } from '../../api/types.ts';
import { Badge } from '../../parts/badge.tsx';
import { JsonValue } from '../../parts/json-value.tsx';
import { SafeLine, SafeText } from '../../parts/safe-text.tsx';
import { Time } from '../../parts/time.tsx';
import { texts } from '../../texts.ts';
import { type ShownCall, ToolCall } from './tool-call.tsx';

const words = texts.messages;

/** Parts that only mark steps: their cost and tokens are summed up in the session. */
const MARKS = new Set(['step-start', 'step-finish', 'snapshot', 'patch', 'compaction']);

const callOf = ({ tool = '', state }: MessagePart): ShownCall => {
  const output = state?.output ?? state?.error;
  const { start, end } = state?.time ?? {};
  return {
    tool,
    status: state?.status ?? 'pending',
    ...(state?.input === undefined ? {} : { input: state.input }),
    ...(output === undefined ? {} : { output }),
    ...(start === undefined || end === undefined ? {} : { durationMs: end - start }),
  };
};

const Part = ({ part }: { readonly part: MessagePart }) => {
  if (part.type === 'text') return <SafeText text={part.text ?? ''} />;
  if (part.type === 'tool') return <ToolCall call={callOf(part)} />;
  if (part.type === 'reasoning')
    return (
      <details class="reasoning">
        <summary>{words.reasoning}</summary>
        <SafeText text={part.text ?? ''} />
      </details>
    );
  if (part.type === 'file')
    return (
      <p>
        {words.file} <SafeLine text={part.filename ?? part.mime ?? ''} limit={120} />
      </p>
    );
  return (
    <details>
      <summary>
        <SafeLine text={part.type} limit={40} />
      </summary>
      <JsonValue value={part} />
    </details>
  );
};

/** One message of a session: who, when, and its parts in their order. */
export const MessageCard = ({ message: { info, parts } }: { readonly message: SessionMessage }) => {
  const shown = parts.filter(({ type }) => !MARKS.has(type));
  return (
    <article class={`message ${info.role}`}>
      <header>
        <strong>{words.roles[info.role]}</strong>
        {info.modelID === undefined ? null : (
          <span class="muted">
            <SafeLine text={info.modelID} limit={80} />
          </span>
        )}
        <span class="muted">
          <Time at={info.time.created} />
        </span>
      </header>
      {shown.map((part) => (
        <Part key={part.id} part={part} />
      ))}
      {info.error === undefined ? null : (
        <p class="bad-text">
          <Badge tone="bad">{words.failed}</Badge> <SafeLine text={info.error.data?.message ?? info.error.name} />
        </p>
      )}
    </article>
  );
};
