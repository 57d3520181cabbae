import { setTimeout as pause } from 'node:timers/promises';
import type { CDPSession, Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { MISSING_BROWSER } from './browser.ts';
import { startModerationWorld } from './moderation-world.ts';

const PER_SECOND = 200;
const SECONDS = 60;
const WARM_SECONDS = 10;
const LONGEST_TASK_MS = 100;
const GROWTH_BYTES = 3_000_000;

/** Asks for so many verdicts each second, and counts those that were given. */
const send = async (ask: (input: string) => Promise<number>, seconds: number): Promise<number> => {
  const startedAt = performance.now();
  const asked: Promise<number>[] = [];
  while (performance.now() - startedAt < seconds * 1000) {
    const due = ((performance.now() - startedAt) / 1000) * PER_SECOND;
    while (asked.length < due) asked.push(ask(`text ${asked.length % 50}`));
    await pause(10);
  }
  return (await Promise.all(asked)).filter((status) => status === 200).length;
};

const watchTasks = (page: Page): Promise<void> =>
  page.evaluate(() => {
    const seen = { longestMs: 0 };
    Object.assign(globalThis, { seen });
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) seen.longestMs = Math.max(seen.longestMs, duration);
    }).observe({ type: 'longtask' });
  });
/** The longest task since the last call. */
const longestMs = (page: Page): Promise<number> =>
  page.evaluate(() => {
    const { seen } = globalThis as unknown as { seen: { longestMs: number } };
    const { longestMs: found } = seen;
    seen.longestMs = 0;
    return found;
  });

/** The page's heap after a collection. */
const heapBytes = async (session: CDPSession): Promise<number> => {
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  return usedSize;
};

describe('a minute of 200 verdicts a second', ({ needing }) => {
  needing(MISSING_BROWSER, 'leaves the page responsive, and its memory as it was', async () => {
    const { url, browser, ask, end } = await startModerationWorld();
    try {
      const { page, context } = await browser.person();
      const session = await context.newCDPSession(page);
      await page.goto(`${url}/moderation`);
      await page.getByRole('heading', { name: 'Live feed' }).waitFor();
      await send(ask, WARM_SECONDS);
      const before = await heapBytes(session);
      await watchTasks(page);
      const halves: { readonly given: number; readonly longest: number }[] = [];
      for (let half = 0; half < 2; half++)
        halves.push({ given: await send(ask, SECONDS / 2), longest: await longestMs(page) });
      const given = halves.reduce((sum, half) => sum + half.given, 0);
      // What the page itself takes long for comes again. A moment in which the machine was busy does not.
      const longest = Math.min(...halves.map((half) => half.longest));
      const after = await heapBytes(session);
      console.log(`${given} verdicts, longest task ${longest} ms, heap ${before} and then ${after} bytes`);
      assert.ok(given > 0.95 * PER_SECOND * SECONDS, `${given} verdicts`);
      // Nearly all of the last minute is in the chart.
      const label = await page.getByText(/^In the last minute [\d,]+ verdicts/).textContent();
      const shown = Number(/[\d,]+/.exec(label ?? '')?.[0].replaceAll(',', ''));
      assert.ok(shown > 0.9 * given, `${label}`);
      assert.ok(longest < LONGEST_TASK_MS, `a task of ${longest} ms`);
      assert.ok(after - before < GROWTH_BYTES, `${after - before} bytes more`);
      assert.equal(browser.problems(), []);
    } finally {
      await end();
    }
  });
});
