import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { describe } from '../check.ts';
import { ROOT, start } from '../runtime/processes.ts';
import { freshClone, freshVariables, noClone, README } from './clone.ts';
import { runBlocks, runnableBlocks } from './readme-blocks.ts';

const DEMO_LINE = 'npm ci && npm run demo';
const TEST_LINE = 'npm ci && npm test';
const LIMIT_MS = 400_000;

/** Whether the page has a shell block of this line alone. */
const promises = (line: string): boolean => README.includes(`\`\`\`sh\n${line}\n\`\`\``);

let cloned: Promise<string> | undefined;
const clone = (): Promise<string> => {
  cloned ??= freshClone();
  return cloned;
};

describe('a fresh clone', (check) => {
  check.needing(noClone, "runs README's demo line and sees all that the demo promises", async () => {
    assert.ok(promises(DEMO_LINE));
    const directory = await clone();
    const startedAt = performance.now();
    const running = start('sh', ['-c', `${DEMO_LINE} -- --check`], {
      directory,
      variables: freshVariables(),
      isGroup: true,
    });
    let installedAt = 0;
    running.child.stdout?.on('data', () => {
      if (installedAt === 0 && /^> @gatehouse-llm\/gatehouse@\S+ demo$/m.test(running.stdout()))
        installedAt = performance.now();
    });
    const timer = setTimeout(() => void running.kill(), LIMIT_MS);
    const { code } = await running.ended;
    clearTimeout(timer);
    assert.is(code, 0, running.stdout().slice(-3000) + running.stderr().slice(-3000));
    const seconds = (from: number, to: number) => ((to - from) / 1000).toFixed(1);
    console.log(`figure: npm ci took ${seconds(startedAt, installedAt)} s`);
    console.log(`figure: npm run demo -- --check took ${seconds(installedAt, performance.now())} s`);
  });

  check.needing(noClone, "runs README's marked blocks as they stand", async () => {
    const directory = await clone();
    // The packages are there since the check above: to download them for each block again would show nothing more.
    const blocks = runnableBlocks(README).map((block) => ({ ...block, text: block.text.replace(/^npm ci && /gm, '') }));
    await runBlocks(blocks, directory, freshVariables());
  });

  check("is tested in CI by README's own line", () => {
    assert.ok(promises(TEST_LINE));
    const commands = readFileSync(join(ROOT, '.ci/run'), 'utf8').replace(/^\s*#.*$/gm, '');
    assert.equal(commands.match(/\bnpm (?:ci|test)\b/g), TEST_LINE.split(' && '));
  });
});
