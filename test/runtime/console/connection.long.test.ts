import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { MISSING_BROWSER, startBrowser } from './browser.ts';
import { logIn, startConsoleWorld } from './world.ts';

const SECRET = 'canary-console-secret-0123456789abcdef';

const isHere = MISSING_BROWSER === undefined;
const world = isHere ? startConsoleWorld({ CONSOLE_SECRET: SECRET }) : undefined;
const chromium = isHere ? startBrowser() : undefined;
const started = Promise.all([world, chromium]).then(([console, browser]) => {
  if (console === undefined || browser === undefined) throw new Error('Expected a browser');
  return [console, browser] as const;
});
started.catch(() => {});

describe('the connection of the page', ({ needing }) => {
  needing(MISSING_BROWSER, 'says that the console is gone, and goes on by itself when it is back', async () => {
    const [first, browser] = await started;
    const { page } = await browser.person();
    await logIn(page, first.url, 'bob');
    first.agent.ask('before_restart', { step: 1 });
    await page.getByRole('article', { name: 'before_restart' }).waitFor();
    await first.stopConsole();
    await page.getByText('No connection to the console').waitFor();
    await page.getByRole('article', { name: 'before_restart' }).getByRole('button', { name: 'Allow once' }).click();
    await page.getByText('The console does not answer').waitFor();
    first.agent.ask('while_away', { step: 2 });
    await first.startConsole();
    await page.getByText('No connection to the console').waitFor({ state: 'hidden', timeout: 20_000 });
    await page.getByRole('article', { name: 'while_away' }).getByRole('button', { name: 'Allow once' }).click();
    await page.getByRole('article', { name: 'while_away' }).getByText('Allowed once by you').waitFor();
    assert.is(first.agent.replies()[0]?.by, 'bob');
  });

  needing(MISSING_BROWSER, 'ends', async () => {
    // The browser first: it writes down when a service goes.
    await (await chromium)?.end();
    await (await world)?.end();
    const [, browser] = await started;
    const expected = /ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE/;
    assert.equal(
      browser.problems().filter((problem) => !expected.test(problem)),
      [],
    );
  });
});
