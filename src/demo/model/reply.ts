import type { ReceivedRequest } from './request.ts';

/** A tool call. Arguments are a value, or a text that is sent unchanged and need not be JSON. */
export type ScriptedCall = { readonly name: string; readonly arguments: unknown; readonly id?: string };

/** One step of an answer. */
export type Piece =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'reasoning'; readonly text: string }
  /** In parallel where the dialect can, the arguments in pieces. */
  | { readonly kind: 'calls'; readonly calls: readonly ScriptedCall[] }
  | { readonly kind: 'wait'; readonly ms: number }
  /** Sends nothing more until this settles, or the caller disconnects. */
  | { readonly kind: 'wait-for'; readonly event: Promise<unknown> }
  /** Text that is sent unchanged. */
  | { readonly kind: 'raw'; readonly text: string }
  | { readonly kind: 'error'; readonly code: string; readonly message: string }
  /** Sends nothing more until the caller disconnects. */
  | { readonly kind: 'hang' }
  /** The connection breaks, or the stream ends without its last events. */
  | { readonly kind: 'break' }
  | { readonly kind: 'close' };

/** Token counts. */
export type ScriptedUsage = {
  readonly prompt: number;
  readonly completion: number;
  /** Of the prompt. */
  readonly cached?: number;
  /** Of the completion. */
  readonly reasoning?: number;
};

/** Why an answer ends, in OpenAI's words. */
export type ScriptedFinish = 'stop' | 'length' | 'content_filter' | 'tool_calls';

/** An answer of the model. */
export type ScriptedAnswer = {
  readonly kind: 'answer';
  readonly pieces: readonly Piece[];
  /** Derived from the pieces unless given. */
  readonly finish?: ScriptedFinish;
  /** Estimated from the characters unless given; `null` omits it. */
  readonly usage?: ScriptedUsage | null;
  /** Sent whole, even when the request wants a stream. */
  readonly isWhole?: boolean;
};
type ScriptedRefusal = {
  readonly kind: 'refusal';
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** JSON, or a text that is sent unchanged. */
  readonly body: unknown;
};
/** What the model does with a request. `silence`: it never answers. */
export type ScriptedReply = ScriptedAnswer | ScriptedRefusal | { readonly kind: 'silence' };

/** Decides the reply to a request; undefined when it has none. */
export type ModelScript = (request: ReceivedRequest) => ScriptedReply | undefined;

/** Pieces of visible text. */
export const text = (...chunks: readonly string[]): Piece[] => chunks.map((chunk) => ({ kind: 'text', text: chunk }));
/** Pieces of reasoning. */
export const reasoning = (...chunks: readonly string[]): Piece[] =>
  chunks.map((chunk) => ({ kind: 'reasoning', text: chunk }));
/** One piece with parallel tool calls. */
export const calls = (...made: readonly ScriptedCall[]): Piece[] => [{ kind: 'calls', calls: made }];

/** An answer of these pieces, in order. */
export const answer = (
  pieces: readonly Piece[],
  more: Partial<Omit<ScriptedAnswer, 'kind' | 'pieces'>> = {},
): ScriptedAnswer => ({
  kind: 'answer',
  pieces,
  ...more,
});

/** A refusal in OpenAI's form, which clients of other dialects read as well. */
export const refusal = (
  status: number,
  code: string,
  more: { readonly headers?: Readonly<Record<string, string>>; readonly message?: string } = {},
): ScriptedRefusal => ({
  kind: 'refusal',
  status,
  ...(more.headers === undefined ? {} : { headers: more.headers }),
  body: { error: { message: more.message ?? `The demo model refuses: ${code}`, type: code, param: null, code } },
});

/** No answer, as long as the caller waits. */
export const silence: ScriptedReply = { kind: 'silence' };

const PIECES_PER_ARGUMENT = 3;

/** A call's arguments as text. */
export const formatArguments = ({ arguments: given }: ScriptedCall): string =>
  typeof given === 'string' ? given : JSON.stringify(given);

/** A call's arguments in a few pieces, cut anywhere, as they are streamed. */
export const splitArguments = (call: ScriptedCall): readonly string[] => {
  const whole = formatArguments(call);
  const length = Math.max(1, Math.ceil(whole.length / PIECES_PER_ARGUMENT));
  return Array.from({ length: Math.ceil(whole.length / length) }, (_, index) =>
    whole.slice(index * length, (index + 1) * length),
  );
};
