import type { ChatCall } from '../../../llm/types.ts';

/** What is asked in one call, beside the text, which is the user's message. */
export type GuardModelQuestion = Pick<ChatCall, 'system' | 'templateSettings' | 'afterUser'> & {
  /** The code that the answer is about; undefined where the answer names codes itself. */
  readonly code?: string;
};

/** An answer in a guard model's documented form. */
export type GuardModelAnswer = {
  /** One of the form's labels, in lower case. */
  readonly label: string;
  /** What the answer has before the label. */
  readonly before: string;
  /** The codes that it names. */
  readonly codes: readonly string[];
};

/** How a kind of guard model is asked, and how it answers. */
export type GuardModelForm = {
  /** Its answers' words, in lower case, and how much harm each of them says: from 0 to 1. */
  readonly labels: Readonly<Record<string, number>>;
  /** The calls that a text takes, which may differ between the versions of a model. */
  readonly questions: (model: string) => readonly GuardModelQuestion[];
  /** Reads an answer without white space around it; undefined for whatever is not exactly in the documented form. */
  readonly parse: (answer: string, model: string) => GuardModelAnswer | undefined;
  /** The longest answer, in tokens. */
  readonly outputTokens: number;
  /** The context that the smallest model of the kind has, in tokens. */
  readonly contextTokens: number;
  /** The words of its chat template and of the longest question, in tokens, counted generously. */
  readonly promptTokens: number;
};

/** The codes of a list that is not empty, each known and named once; undefined for any other. */
export const knownCodes = (list: readonly string[], known: readonly string[]): readonly string[] | undefined =>
  list.length > 0 && new Set(list).size === list.length && list.every((code) => known.includes(code))
    ? list
    : undefined;
