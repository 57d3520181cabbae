import type { ScriptedCall, ScriptedFinish, ScriptedUsage } from './reply.ts';

/** Writes an answer in one dialect. Every method but `whole` returns the stream's text, in the pieces that are sent. */
export type DialectWriter = {
  readonly begin: () => readonly string[];
  readonly text: (delta: string) => readonly string[];
  readonly reasoning: (delta: string) => readonly string[];
  readonly calls: (calls: readonly (ScriptedCall & { readonly id: string })[]) => readonly string[];
  readonly error: (code: string, message: string) => readonly string[];
  readonly end: (finish: ScriptedFinish, usage: ScriptedUsage | undefined) => readonly string[];
  /** The body of an answer that is not streamed. */
  readonly whole: (answer: CompleteAnswer) => unknown;
};

/** Everything in one answer. */
export type CompleteAnswer = {
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly (ScriptedCall & { readonly id: string })[];
  readonly finish: ScriptedFinish;
  readonly usage: ScriptedUsage | undefined;
};

/** What a writer puts into every event. */
export type DialectWriterNeeds = {
  readonly id: string;
  readonly model: string;
  /** Seconds since the epoch. */
  readonly createdAt: number;
  /** Whether the request wants the usage of a stream. Only chat completions have that field. */
  readonly wantsUsage: boolean;
};

/** One server-sent event, with its name where the dialect names them. */
export const formatEvent = (data: unknown, name?: string): string =>
  `${name === undefined ? '' : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`;

/** Takes one of each list in turn, as parallel calls are streamed. */
export const interleave = <One>(lists: readonly (readonly One[])[]): One[] => {
  const longest = Math.max(0, ...lists.map(({ length }) => length));
  return Array.from({ length: longest }, (_, index) => lists.flatMap((list) => list.slice(index, index + 1))).flat();
};
