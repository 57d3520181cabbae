import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { MISSING_BROWSER, startBrowser } from './browser.ts';
import { startConsoleWorld } from './world.ts';

const isHere = MISSING_BROWSER === undefined;
const world = isHere ? startConsoleWorld() : undefined;
const chromium = isHere ? startBrowser() : undefined;
const started = Promise.all([world, chromium]).then(([console, browser]) => {
  if (console === undefined || browser === undefined) throw new Error('Expected a browser');
  return [console, browser] as const;
});
started.catch(() => {});

/** Opens a request and, in a browser without an account, the link that was sent for it. */
const openedLink = async (tool: string): Promise<{ readonly id: string; readonly page: Page }> => {
  const [{ url, agent, webhook }, browser] = await started;
  const before = webhook.links().length;
  const { id } = agent.ask(tool, { amount: 1 });
  await webhook.sent(before + 1);
  const { page } = await browser.person();
  await page.goto(`${url}${new URL(webhook.links().at(-1) ?? '').pathname}`);
  return { id, page };
};

describe('a one-time link in Chromium', ({ needing }) => {
  needing(MISSING_BROWSER, 'decides nothing once its request has ended', async () => {
    const [{ agent }] = await started;
    const { id, page } = await openedLink('late_call');
    agent.expire(id);
    await page.getByRole('button', { name: 'Allow once' }).click();
    await page.getByRole('heading', { name: 'This request is over' }).waitFor();
    await page.reload();
    assert.is(await page.getByRole('button').count(), 0);
    assert.equal(
      agent.replies().flatMap((decision) => (decision.id === id ? [decision.reply] : [])),
      ['expired'],
    );
  });

  needing(MISSING_BROWSER, 'decides nothing once the arguments are others than it showed', async () => {
    const [{ agent }] = await started;
    const { id, page } = await openedLink('changed_call');
    agent.changeArguments(id, { amount: 1_000_000 });
    await page.getByRole('button', { name: 'Allow once' }).click();
    await page.getByText(/arguments .*(?:changed|not those that were shown)/).waitFor();
    assert.is(
      agent.replies().some((decision) => decision.id === id),
      false,
    );
  });

  needing(MISSING_BROWSER, 'works at 360 px, without an error in the console of the browser', async () => {
    const [, browser] = await started;
    const { page } = await openedLink('narrow_call');
    await page.setViewportSize({ width: 360, height: 640 });
    assert.is(await page.evaluate('document.documentElement.scrollWidth > innerWidth'), false);
    assert.equal(browser.problems(), []);
  });

  needing(MISSING_BROWSER, 'ends', async () => {
    // The browser first: it writes down when a service goes.
    await (await chromium)?.end();
    await (await world)?.end();
  });
});
