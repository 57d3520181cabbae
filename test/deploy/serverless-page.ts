import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../runtime/processes.ts';

export const PAGE = readFileSync(join(ROOT, 'docs/serverless.md'), 'utf8');

/** The shell block that holds `part`. */
export const blockWith = (part: string): string => {
  const block = [...PAGE.matchAll(/^```sh\n([\s\S]*?)^```$/gm)]
    .map(([, text = '']) => text)
    .find((text) => text.includes(part));
  if (block === undefined) throw new Error(`docs/serverless.md has no shell block with ${part}`);
  return block;
};

/** The words of the one line that begins with `beginning`, without its comment. */
export const promptTexts = (beginning: string): readonly string[] => {
  const line =
    blockWith(beginning)
      .split('\n')
      .find((each) => each.startsWith(beginning)) ?? '';
  return line.replace(/\s+#.*$/, '').split(' ');
};
