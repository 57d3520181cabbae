import type { HttpRequest } from '../../../src/core/http/client.ts';
import { parseMarkedTexts } from '../../../src/demo/judge/judge.ts';
import { type Answer, replying, userMessageOf, verdictJson } from './world.ts';

type Scores = Readonly<Record<string, unknown>>;
/** A text that a call shows to the judge, and its number. */
export type Shown = { readonly nonce: string; readonly text: string };

/** The texts that a call shows to the judge, in order. */
export const shownIn = (sent: HttpRequest): readonly Shown[] => parseMarkedTexts(userMessageOf(sent));
export const textsIn = (sent: HttpRequest): readonly string[] => shownIn(sent).map(({ text }) => text);
export const isBatch = (sent: HttpRequest): boolean => shownIn(sent).length > 1;

/** One entry of an answer to a batch, as a judge writes it. */
export const entryJson = (nonce: string, given: Scores = {}): string => {
  const { nonce: _, ...rest } = JSON.parse(verdictJson(nonce, given)) as Record<string, unknown>;
  return JSON.stringify({ nonce, ...rest });
};
export const batchJson = (entries: readonly string[]): string => `{"verdicts":[${entries.join(',')}]}`;

/** A judge that finds in each text what `find` does, alone or beside others. */
export const judgingEach =
  (find: (text: string) => Scores): Answer =>
  (sent) => {
    const shown = shownIn(sent);
    const [only] = shown;
    return replying(
      sent,
      shown.length === 1 && only !== undefined
        ? verdictJson(only.nonce, find(only.text))
        : batchJson(shown.map(({ nonce, text }) => entryJson(nonce, find(text)))),
    );
  };

/** A judge that answers batches by `beside`, and single texts as `judgingEach` does. */
export const judgingBatches =
  (beside: (sent: HttpRequest) => ReturnType<Answer>, find: (text: string) => Scores): Answer =>
  (sent) =>
    isBatch(sent) ? beside(sent) : judgingEach(find)(sent);
