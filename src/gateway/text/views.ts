import { revealed } from './decode.ts';
import { neutralise } from './neutral.ts';
import { normalise } from './normalize.ts';

/** What the judge is to read, worst verdict wins: the text as seen, and only if something was hidden in it, that too. */
export const viewsOf = (text: string): readonly string[] => {
  const seen = normalise(text);
  const second = revealed(text, seen);
  const views = second === undefined ? [seen] : [seen, second];
  return views.map(neutralise);
};
