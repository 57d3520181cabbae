import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import type { PermissionDecision } from '../../../src/agent/protocol/permissions.ts';
import { answer, calls, text } from '../../../src/demo/model/reply.ts';
import type { ReceivedRequest } from '../../../src/demo/model/request.ts';
import { describe, thorough } from '../../check.ts';
import { addressOf, PASSWORD, USER } from '../agent/process.ts';
import { isNoTitle } from '../agent/world.ts';
import { BRIDGE_KEY, type BridgeWorld, sharedBridgeWorld } from '../bridge/world.ts';
import { bundle, type Running, start } from '../processes.ts';
import { MISSING_BROWSER, startBrowser, type TestBrowser } from './browser.ts';

const HOSTILE = '<img src=x onerror="document.title=1"> \u202egnp.exe\u0007';

type Opened = { readonly url: string; readonly console: Running; readonly browser: TestBrowser };

const inWorld = sharedBridgeWorld();
let opened: Promise<Opened> | undefined;

/** A console for whoever uses this machine, before the agent and the bridge, and a browser. */
const open = async ({ agent, bridge }: BridgeWorld): Promise<Opened> => {
  const running = start(process.execPath, [bundle('console.js')], {
    variables: {
      HOST: '127.0.0.1',
      PORT: '0',
      CONSOLE_AGENT_URLS: agent.address,
      AGENT_SERVER_USERNAME: USER,
      AGENT_SERVER_PASSWORD: PASSWORD,
      CONSOLE_BRIDGE_URL: bridge.address,
      CONSOLE_BRIDGE_KEY: BRIDGE_KEY,
    },
  });
  const [url, browser] = await Promise.all([addressOf(running), startBrowser()]);
  return { url, console: running, browser };
};

const onPage = (body: (world: BridgeWorld & Opened & { readonly page: Page }) => Promise<void>) =>
  inWorld(async (world) => {
    opened ??= open(world);
    const { page, context } = await (await opened).browser.person();
    await body({ ...world, ...(await opened), page });
    await context.close();
  });

const hasResult = (request: ReceivedRequest): boolean => isNoTitle(request) && request.turns.at(-1)?.role === 'tool';

const say = async (page: Page, words: string): Promise<void> => {
  await page.getByLabel('Message').fill(words);
  await page.keyboard.press('Enter');
};

/** The rules of WCAG 2.2 AA, and no page that is wider than its window. */
const checkAccess = async (page: Page): Promise<void> => {
  await page.evaluate(await readFile(new URL(import.meta.resolve('axe-core/axe.min.js')), 'utf8'));
  const found = await page.evaluate(async () => {
    const { axe } = globalThis as unknown as {
      axe: { run: (tags: unknown) => Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> };
    };
    const { violations } = await axe.run({ runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] });
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
  });
  assert.equal(found, []);
  assert.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'));
};

describe('the chat in Chromium', ({ needing }) => {
  needing(
    MISSING_BROWSER,
    'shows calls as they run, asks for what has to be allowed in place, and goes on after the decision',
    onPage(async ({ page, url, model, agent }) => {
      model.addReply(
        answer([...text('I ', 'look.'), ...calls({ name: 'tools_noise', arguments: { words: HOSTILE } })]),
        isNoTitle,
      );
      model.addReply(answer(text(`It is quiet. ${HOSTILE}`)), hasResult);
      await page.goto(`${url}/chat`);
      await say(page, `Is it quiet? ${HOSTILE}`);
      const card = page.getByRole('article', { name: 'tools_noise' });
      await card.locator('.arguments').getByText('<img src=x').waitFor();
      await page.getByText('I look.').waitFor();
      await page.getByText('A call waits for a decision').waitFor();
      assert.is(await page.getByText('The agent asks for approval').count(), 0);
      await checkAccess(page);
      // A reload loses nothing: what was said, what waits, and the rest of the answer.
      await page.reload();
      await page.getByText('I look.').waitFor();
      await page.getByText('The agent waits for a decision').first().waitFor();
      await card.getByRole('button', { name: 'Allow once' }).click();
      await page.getByText('It is quiet.').waitFor();
      await page.getByText('The answer is complete').waitFor({ state: 'attached' });
      await page.getByText('done', { exact: true }).waitFor();
      assert.is(await page.title(), 'Chat · Gatehouse');
      const { json } = await agent.ask<readonly PermissionDecision[]>('GET', '/permission/decisions');
      assert.equal([json[0]?.reply, json[0]?.by], ['once', 'local']);
      // The conversation goes on in the same session.
      model.addReply('Still quiet.', isNoTitle);
      await say(page, 'And now?');
      await page.getByText('Still quiet.').waitFor();
      assert.ok(
        model
          .requests()
          .at(-1)
          ?.turns.some((turn) => turn.text.includes('It is quiet.')),
      );
    }),
  );

  needing(
    MISSING_BROWSER,
    'keeps each answer with its own message where another one ends a run that waits',
    onPage(async ({ page, url, model }) => {
      model.addReply(
        answer([...text('First words.'), ...calls({ name: 'tools_noise', arguments: { words: 'x' } })]),
        isNoTitle,
      );
      await page.goto(`${url}/chat`);
      await say(page, 'Is it loud?');
      await page.getByText('A call waits for a decision').waitFor();
      model.addReply('Something else.', isNoTitle);
      await say(page, 'Never mind. Say something else.');
      const answers = page.locator('.message.from-agent');
      await answers.nth(1).getByText('Something else.').waitFor();
      await answers.nth(0).getByText('Stopped', { exact: true }).waitFor();
      await answers.nth(0).getByText('First words.').waitFor();
      assert.is(await page.getByText('Something else.', { exact: true }).count(), 1);
    }),
  );

  needing(
    MISSING_BROWSER,
    'is stopped by its reader, and says why an answer failed',
    onPage(async ({ page, url, model }) => {
      model.addReply(answer([...text('One. '), { kind: 'hang' }]), isNoTitle);
      await page.goto(`${url}/chat`);
      await say(page, 'Count.');
      await page.getByText('One.').waitFor();
      // In the middle of an answer too: the run goes on without the page.
      await page.reload();
      await page.getByText('One.').waitFor();
      await page.getByText('The agent goes on').first().waitFor();
      await page.getByRole('button', { name: 'Stop' }).click();
      await page.getByText('Stopped', { exact: true }).first().waitFor({ state: 'attached' });
      model.addReply({ kind: 'refusal', status: 400, body: { error: { message: 'no' } } }, isNoTitle);
      await say(page, 'Count on.');
      await page.getByRole('alert').waitFor();
    }),
  );
});

/** Most of the work of these is the browser's, and the views of sessions seldom change. */
const hasSessions = thorough(0, 1) === 1;

describe('the sessions in Chromium', ({ needing }) => {
  if (hasSessions) {
    needing(
      MISSING_BROWSER,
      'are listed a thousand long without a stall, found by title, exported and deleted',
      onPage(async ({ page, url, agent }) => {
        const count = 1000;
        const made = async (title: string) =>
          (await agent.ask<{ readonly id: string }>('POST', '/session', { title })).json;
        const groups = Array.from({ length: count / 50 }, (_, group) => group);
        for (const group of groups)
          await Promise.all(Array.from({ length: 50 }, (_, index) => made(`Session ${group * 50 + index}`)));
        const { id } = await made(`Straße ${HOSTILE}`);
        await page.goto(`${url}/sessions`);
        const rows = page.locator('.session-table tbody tr');
        await rows.nth(99).waitFor();
        await page.evaluate(() => {
          const longest = globalThis as unknown as { longestMs: number };
          longest.longestMs = 0;
          new PerformanceObserver((list) => {
            for (const { duration } of list.getEntries()) longest.longestMs = Math.max(longest.longestMs, duration);
          }).observe({ type: 'longtask' });
        });
        while ((await rows.count()) < count) {
          const before = await rows.count();
          await page.getByRole('button', { name: 'Show more' }).click();
          await rows.nth(before).waitFor();
        }
        const longestMs = await page.evaluate('longestMs');
        // On a busy machine; a quiet one takes a tenth of it.
        assert.ok(Number(longestMs) < 1000, `the longest task took ${longestMs} ms`);
        console.log(`     figure: ${count + 1} sessions are listed, the longest task took ${longestMs} ms`);
        await page.getByLabel('Search in titles').fill('STRASSE');
        await rows.filter({ hasText: 'Straße' }).waitFor();
        await rows.nth(1).waitFor({ state: 'detached' });
        await checkAccess(page);
        await rows.getByRole('link').click();
        await page.getByText('No message yet').waitFor();
        const [download] = await Promise.all([page.waitForEvent('download'), page.getByText('Export').click()]);
        const lines = (await readFile(await download.path(), 'utf8')).trim().split('\n');
        assert.is(lines.at(-1), '{"kind":"end"}');
        assert.ok(lines[0]?.includes(id));
        await page.getByRole('button', { name: 'Delete…' }).click();
        await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
        await page.getByText('Deleted').waitFor();
        assert.is((await agent.ask('GET', `/session/${id}`)).status, 404);
      }),
    );

    needing(
      MISSING_BROWSER,
      'show messages with their calls as text, and a run that is aborted',
      onPage(async ({ page, url, agent, model }) => {
        const { json: session } = await agent.ask<{ readonly id: string }>('POST', '/session', { title: HOSTILE });
        model.addReply(answer([...calls({ name: 'tools_echo', arguments: { words: HOSTILE } })]), isNoTitle);
        model.addReply(answer([...text(HOSTILE), { kind: 'hang' }]), hasResult);
        await agent.ask('POST', `/session/${session.id}/prompt_async`, {
          parts: [{ type: 'text', text: `${HOSTILE}${'long '.repeat(10_000)}` }],
        });
        await page.goto(`${url}/sessions/0/${session.id}`);
        await page.getByText('at work').waitFor();
        await page.locator('.tool-call').getByText('tools_echo').click();
        await page.getByText('Result').waitFor();
        await page.getByText('Show 20,000 more').first().waitFor();
        assert.is(await page.locator('.message img').count(), 0);
        assert.is(await page.title(), 'Sessions · Gatehouse');
        await checkAccess(page);
        await page.getByRole('button', { name: 'Abort' }).click();
        await page.getByRole('dialog').getByRole('button', { name: 'Abort' }).click();
        await page.getByText('Aborted').first().waitFor();
        await page.getByText('at work').waitFor({ state: 'detached' });
      }),
    );
  }

  needing(MISSING_BROWSER, 'and the chat leave no error in the browser, and no secret of the services', async () => {
    const world = await opened;
    const received = world?.browser.received() ?? '';
    assert.equal(world?.browser.problems(), []);
    assert.ok(received.includes(hasSessions ? 'Session 149' : 'Chat'));
    for (const secret of [PASSWORD, BRIDGE_KEY]) assert.not.ok(received.includes(secret));
    await world?.browser.end();
    await world?.console.kill();
  });
});
