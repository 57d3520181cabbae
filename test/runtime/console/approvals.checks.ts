import type { Locator, Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { MISSING_BROWSER, startBrowser } from './browser.ts';
import { logIn, PASSWORD, startConsoleWorld } from './world.ts';

const INPUT = { user_id: 41, limits: { rpm: 600 }, note: 'As agreed <b>on Friday</b>' };

const isHere = MISSING_BROWSER === undefined;
const world = isHere ? startConsoleWorld() : undefined;
const chromium = isHere ? startBrowser() : undefined;
/** Both. The last check ends each, also where the other did not start. */
const started = Promise.all([world, chromium]).then(([console, browser]) => {
  if (console === undefined || browser === undefined) throw new Error('Expected a browser');
  return [console, browser] as const;
});
started.catch(() => {});

const cardOf = (page: Page, tool: string): Locator => page.getByRole('article', { name: tool });

describe('the approvals page in Chromium', ({ needing }) => {
  needing(
    MISSING_BROWSER,
    'refuses a wrong password, takes the right one, and again after a session has ended',
    async () => {
      const [{ url }, browser] = await started;
      const { page, context } = await browser.person();
      await page.goto(url);
      await page.getByLabel('Name').fill('anna');
      await page.getByLabel('Password').fill('wrong');
      await page.getByRole('button', { name: 'Log in' }).click();
      await page.getByText('Name or password is wrong').waitFor();
      await page.getByLabel('Password').fill(PASSWORD);
      await page.keyboard.press('Enter');
      await page.getByText('Nothing waits for you').waitFor();
      assert.is(await page.title(), 'Approvals · Gatehouse');
      await context.clearCookies();
      await page.getByRole('link', { name: 'Sessions' }).click();
      await page.getByLabel('Name').fill('anna');
      await page.getByLabel('Password').fill(PASSWORD);
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Sessions', level: 1 }).waitFor();
    },
  );

  needing(MISSING_BROWSER, 'does not say that nothing waits where an agent server was not read', async () => {
    const [{ url }, browser] = await started;
    const { page } = await browser.person();
    const event = 'event: approvals\ndata: {"open":[],"away":[0],"standing":[]}\n\n';
    await page.route('**/api/events', (route) => route.fulfill({ contentType: 'text/event-stream', body: event }));
    await page.route('**/api/approvals', (route) =>
      route.fulfill({ json: { open: [], away: [0], standing: [], decided: [], unread: [0] } }),
    );
    await logIn(page, url, 'bob');
    await page.getByText('Agent server 1 does not answer. Requests that wait there are not shown.').waitFor();
    await page.getByText('The decisions that are kept by Agent server 1 could not be read.').waitFor();
    for (const text of ['Nothing waits for you', 'No request waits', 'No decision is kept yet.'])
      assert.is(await page.getByText(text).count(), 0, text);
  });

  needing(MISSING_BROWSER, 'and the pages of sessions and settings say which agent server was not read', async () => {
    const [{ url }, browser] = await started;
    const { page } = await browser.person();
    const answers = { sessions: { sessions: [] }, tools: { servers: [] }, config: { agents: [] } };
    for (const [name, json] of Object.entries(answers))
      await page.route(new RegExp(`/api/${name}(?:\\?|$)`), (route) =>
        route.fulfill({ json: { ...json, unread: [0] } }),
      );
    await logIn(page, url, 'bob');
    await page.getByRole('link', { name: 'Sessions' }).click();
    await page.getByText(/The sessions of Agent server 1 .*could not be read: those that only it has/).waitFor();
    assert.is(await page.getByText('There is no session yet').count(), 0);
    await page.getByRole('link', { name: 'Settings' }).click();
    await page.getByText(/The tool servers of Agent server 1 .*could not be read/).waitFor();
    await page.getByText(/The configuration of Agent server 1 .*could not be read/).waitFor();
    assert.is(await page.getByText('No tool server is configured').count(), 0);
  });

  needing(MISSING_BROWSER, 'shows a request as it comes, with every argument, and allows it once', async () => {
    const [{ url, agent }, browser] = await started;
    const { page } = await browser.person();
    await logIn(page, url, 'bob');
    const { id } = agent.ask('update_limits', INPUT);
    const card = cardOf(page, 'update_limits');
    for (const text of ['user_id', '41', 'rpm', '600', 'As agreed <b>on Friday</b>', 'A conversation'])
      await card.getByText(text, { exact: true }).waitFor();
    await card.getByText(/4m \d+s left/).waitFor();
    assert.is(await page.title(), '(1) Approvals · Gatehouse');
    await card.getByRole('button', { name: 'Allow once' }).click();
    await card.getByText('Allowed once by you').waitFor();
    assert.is(agent.replies()[0]?.id, id);
    assert.is(agent.replies()[0]?.by, 'bob');
    await page.getByRole('row', { name: /Allowed once update_limits bob/ }).waitFor();
  });

  needing(MISSING_BROWSER, 'says what always covers before it is confirmed, and rejects with a reason', async () => {
    const [{ url, agent }, browser] = await started;
    const { page } = await browser.person();
    await logIn(page, url, 'anna');
    agent.ask('run_report', {});
    const card = cardOf(page, 'run_report');
    // The second half of a double click meets the dialog before anybody can have read it.
    await card.getByRole('button', { name: 'Always allow…' }).and(page.locator('[aria-disabled=false]')).waitFor();
    await page.evaluate(async () => {
      const { document, requestAnimationFrame } = globalThis as unknown as {
        document: { querySelectorAll: (selector: string) => Iterable<{ textContent: string; click: () => void }> };
        requestAnimationFrame: (run: () => void) => void;
      };
      const click = (name: string): void => {
        for (const button of document.querySelectorAll('button')) if (button.textContent === name) button.click();
      };
      click('Always allow…');
      await new Promise<void>((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
      click('Always allow');
    });
    await page.getByRole('dialog').getByText('Every call of run_report, with any arguments').waitFor();
    await page.keyboard.press('Escape');
    await card.getByRole('button', { name: 'Reject…' }).click();
    // The focus is in it already.
    await page.getByLabel('Reason (optional)').and(page.locator(':focus')).waitFor();
    // Chromium would log that it does not follow the attribute where something has the focus.
    assert.is(await page.locator('[autofocus]').count(), 0);
    await page.keyboard.type('Not on a Friday');
    await page.getByRole('dialog').getByRole('button', { name: 'Reject' }).click();
    await card.getByText('Rejected by you').waitFor();
    assert.is(agent.replies()[0]?.reply, 'reject');
    assert.is(agent.replies()[0]?.message, 'Not on a Friday');
  });

  needing(MISSING_BROWSER, 'allows always only in red, shows that it is active, and takes it back', async () => {
    const [{ url, agent }, browser] = await started;
    const { page } = await browser.person();
    await logIn(page, url, 'bob');
    const pay = agent.ask('pay_out', {}, { always: [] });
    await cardOf(page, 'pay_out').getByText('Each such call needs a decision of its own').waitFor();
    assert.is(await cardOf(page, 'pay_out').getByRole('button', { name: 'Always allow…' }).count(), 0);
    agent.expire(pay.id);
    agent.ask('find_page', {}, { alwaysMs: 3_600_000 });
    await cardOf(page, 'find_page').getByRole('button', { name: 'Always allow…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.locator('.notice.bad').getByText('nobody is asked').waitFor();
    await dialog.getByText('in this session, for 60 minutes').waitFor();
    await dialog.locator('.button.danger', { hasText: 'Always allow' }).click();
    await page.getByRole('navigation').getByRole('img', { name: 'Calls run without asking' }).waitFor();
    const row = page.getByRole('row', { name: /find_page.* bob .* 2 / });
    await page.getByRole('heading', { name: '1 rule is active' }).waitFor();
    await row.getByRole('button', { name: /^Revoke: Every call of find_page/ }).click();
    await page.getByText('Revoked. The next such call asks again.').waitFor();
    await row.waitFor({ state: 'detached' });
    assert.is(await page.getByRole('img', { name: 'Calls run without asking' }).count(), 0);
  });

  needing(MISSING_BROWSER, 'tells the second of two people who decided, also while a dialog is open', async () => {
    const [{ url, agent }, browser] = await started;
    const [first, second] = await Promise.all([browser.person(), browser.person()]);
    await Promise.all([logIn(first.page, url, 'anna'), logIn(second.page, url, 'bob')]);
    agent.ask('delete_account', { account: 7 });
    await cardOf(second.page, 'delete_account').getByRole('button', { name: 'Reject…' }).click();
    await cardOf(first.page, 'delete_account').getByRole('button', { name: 'Allow once' }).click();
    const dialog = second.page.getByRole('dialog');
    await dialog.getByText('anna was faster: Allowed once').waitFor();
    assert.is(await dialog.getByRole('button', { name: 'Reject' }).getAttribute('aria-disabled'), 'true');
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await cardOf(second.page, 'delete_account').getByText('Allowed once by anna').waitFor();
  });

  needing(MISSING_BROWSER, 'takes a link once and without an account, and decides nothing by GET', async () => {
    const [{ url, agent, webhook }, browser] = await started;
    const before = webhook.links().length;
    const { id } = agent.ask('restart_worker', { worker: 3 });
    await webhook.sent(before + 1);
    const link = `${url}${new URL(webhook.links().at(-1) ?? '').pathname}`;
    const [{ page }, other] = await Promise.all([browser.person(), browser.person()]);
    await page.goto(link);
    await other.page.goto(link);
    assert.is(
      agent.replies().some((decision) => decision.id === id),
      false,
    );
    await page.getByText('"worker": 3').waitFor();
    await page.getByRole('button', { name: 'Allow once' }).click();
    await page.getByText('It was allowed once by approval link').waitFor();
    await other.page.getByRole('button', { name: 'Reject' }).click();
    await other.page.getByText('It was allowed once by approval link').waitFor();
    assert.is(agent.replies().find((decision) => decision.id === id)?.reply, 'once');
    assert.is(agent.replies().filter((decision) => decision.id === id).length, 1);
  });

  needing(MISSING_BROWSER, 'writes no error to the console of the browser, and ends', async () => {
    // The browser first: it writes down when a service goes.
    await (await chromium)?.end();
    await (await world)?.end();
    const [, browser] = await started;
    assert.equal(browser.problems(), []);
    assert.not.match(browser.received(), PASSWORD);
  });
});
