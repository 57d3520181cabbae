import { latencyText } from '../../format/dates.ts';
import { Badge } from '../../parts/badge.tsx';
import { JsonValue } from '../../parts/json-value.tsx';
import { SafeLine, SafeText } from '../../parts/safe-text.tsx';
import type { Tone } from '../../state/toasts.ts';
import { texts } from '../../texts.ts';

const words = texts.messages;

/** A call of a tool as it is shown. */
export type ShownCall = {
  readonly tool: string;
  readonly status: 'pending' | 'running' | 'completed' | 'error';
  readonly input?: unknown;
  readonly output?: string;
  readonly durationMs?: number;
};

const TONES: Readonly<Record<ShownCall['status'], Tone>> = {
  pending: 'plain',
  running: 'warning',
  completed: 'good',
  error: 'bad',
};

/** A call of a tool: its name and state, and on demand what went in and came out. */
export const ToolCall = ({ call }: { readonly call: ShownCall }) => (
  <details class="tool-call">
    <summary>
      <code>
        <SafeLine text={call.tool} limit={120} />
      </code>
      <Badge tone={TONES[call.status]}>{words.states[call.status]}</Badge>
      {call.durationMs === undefined ? null : <span class="muted">{latencyText(call.durationMs)}</span>}
    </summary>
    {call.input === undefined ? null : (
      <>
        <h4 class="label">{words.input}</h4>
        <JsonValue value={call.input} />
      </>
    )}
    {call.output === undefined ? null : (
      <>
        <h4 class="label">{call.status === 'error' ? words.error : words.output}</h4>
        <SafeText text={call.output} isCode />
      </>
    )}
  </details>
);
