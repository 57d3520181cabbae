/** A tool call to be made. Arguments are a value, or a text as it stands, which need not be JSON. */
export type ScriptedCall = { readonly name: string; readonly arguments: unknown; readonly id?: string };

/** Something that an answer does, in the order in which it does it. */
export type Piece =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'reasoning'; readonly text: string }
  /** Side by side where the dialect can, the arguments in pieces. */
  | { readonly kind: 'calls'; readonly calls: readonly ScriptedCall[] }
  | { readonly kind: 'wait'; readonly ms: number }
  /** Bytes of the stream as they stand. */
  | { readonly kind: 'raw'; readonly text: string }
  | { readonly kind: 'error'; readonly code: string; readonly message: string }
  /** Says nothing more, for as long as the caller stays. */
  | { readonly kind: 'hang' }
  /** The connection breaks, or the stream ends as if all had been said. */
  | { readonly kind: 'break' }
  | { readonly kind: 'close' };

export type ScriptedUsage = {
  readonly prompt: number;
  readonly completion: number;
  /** Of the prompt. */
  readonly cached?: number;
  /** Of the completion. */
  readonly reasoning?: number;
};

export type ScriptedFinish = 'stop' | 'length' | 'content_filter' | 'tool_calls';

export type ScriptedAnswer = {
  readonly kind: 'answer';
  readonly pieces: readonly Piece[];
  /** Follows from the pieces unless it is given. */
  readonly finish?: ScriptedFinish;
  /** Counted from the characters unless it is given; `null` leaves it out. */
  readonly usage?: ScriptedUsage | null;
  /** Whole, although a stream was asked for. */
  readonly isWhole?: boolean;
};
export type ScriptedRefusal = {
  readonly kind: 'refusal';
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** JSON, or a text as it stands. */
  readonly body: unknown;
};
export type ScriptedReply = ScriptedAnswer | ScriptedRefusal | { readonly kind: 'silence' };

export const text = (...chunks: readonly string[]): Piece[] => chunks.map((chunk) => ({ kind: 'text', text: chunk }));
export const reasoning = (...chunks: readonly string[]): Piece[] =>
  chunks.map((chunk) => ({ kind: 'reasoning', text: chunk }));
export const calls = (...made: readonly ScriptedCall[]): Piece[] => [{ kind: 'calls', calls: made }];

/** An answer that does these things one after the other. */
export const answer = (
  pieces: readonly Piece[],
  more: Partial<Omit<ScriptedAnswer, 'kind' | 'pieces'>> = {},
): ScriptedAnswer => ({
  kind: 'answer',
  pieces,
  ...more,
});

/** A refusal in OpenAI's form, which other dialects' clients read as well. */
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

/** Takes the request and never answers. */
export const silence: ScriptedReply = { kind: 'silence' };

const PIECES_PER_ARGUMENT = 3;

export const argumentsOf = ({ arguments: given }: ScriptedCall): string =>
  typeof given === 'string' ? given : JSON.stringify(given);

/** A call's arguments as they come over the wire: in a few pieces, cut anywhere. */
export const argumentPieces = (call: ScriptedCall): readonly string[] => {
  const whole = argumentsOf(call);
  const length = Math.max(1, Math.ceil(whole.length / PIECES_PER_ARGUMENT));
  return Array.from({ length: Math.ceil(whole.length / length) }, (_, index) =>
    whole.slice(index * length, (index + 1) * length),
  );
};
