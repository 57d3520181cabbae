import type { ScriptedCall, ScriptedFinish, ScriptedUsage } from './reply.ts';

/** A dialect as it is spoken: every method gives the bytes of a stream, in the pieces in which they are sent. */
export type Voice = {
  readonly begin: () => readonly string[];
  readonly text: (delta: string) => readonly string[];
  readonly reasoning: (delta: string) => readonly string[];
  readonly calls: (calls: readonly (ScriptedCall & { readonly id: string })[]) => readonly string[];
  readonly error: (code: string, message: string) => readonly string[];
  readonly end: (finish: ScriptedFinish, usage: ScriptedUsage | undefined) => readonly string[];
  /** The same, said at once. */
  readonly whole: (said: Said) => unknown;
};

/** All that an answer says. */
export type Said = {
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly (ScriptedCall & { readonly id: string })[];
  readonly finish: ScriptedFinish;
  readonly usage: ScriptedUsage | undefined;
};

export type VoiceNeeds = {
  readonly id: string;
  readonly model: string;
  /** Seconds since the epoch. */
  readonly createdAt: number;
  /** Whether the caller asked for the usage of a stream. Only one dialect asks. */
  readonly wantsUsage: boolean;
};

/** One event, with its name where the dialect names them. */
export const eventText = (data: unknown, name?: string): string =>
  `${name === undefined ? '' : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`;

/** Takes one of each list in turn, as parallel calls come over the wire. */
export const interleaved = <One>(lists: readonly (readonly One[])[]): One[] => {
  const longest = Math.max(0, ...lists.map(({ length }) => length));
  return Array.from({ length: longest }, (_, index) => lists.flatMap((list) => list.slice(index, index + 1))).flat();
};
