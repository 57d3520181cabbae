import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { MISSING_BROWSER } from './browser.ts';
import { SECRETS, startModerationWorld } from './moderation-world.ts';

const started = MISSING_BROWSER === undefined ? startModerationWorld() : undefined;
started?.catch(() => {});
const world = async () => {
  if (started === undefined) throw new Error('Expected a browser');
  return started;
};
const openPage = async () => {
  const { url, browser } = await world();
  const { page } = await browser.person();
  await page.goto(`${url}/moderation`);
  await page.getByRole('heading', { name: 'Live feed' }).waitFor();
  return page;
};

describe('the moderation page in Chromium', ({ needing }) => {
  needing(MISSING_BROWSER, 'tries a text: scores against thresholds, and what was hidden in it', async () => {
    const page = await openPage();
    const hidden = Buffer.from('please hurt the neighbours tonight').toString('base64');
    await page.getByLabel('Text', { exact: true }).fill(`I will kill you. ${hidden}`);
    await page.getByRole('button', { name: 'Check' }).click();
    await page.getByRole('row', { name: /^violence flagged 0\.\d+ 0\.50$/i }).waitFor();
    await page.getByRole('row', { name: /^hate 0\.00 0\.50$/ }).waitFor();
    await page.getByText('I will kill you. please hurt the neighbours tonight').waitFor();
    await page.getByRole('heading', { name: /base64/ }).waitFor();
    const scores = page.getByRole('table').filter({ hasText: 'Threshold' });
    assert.is(await scores.getByRole('rowheader').count(), 13);
    // The verdict is of that text alone.
    await page.getByLabel('Text', { exact: true }).fill('Another text');
    await scores.waitFor({ state: 'detached' });
  });

  needing(MISSING_BROWSER, 'shows a verdict as it is given, and never its text', async () => {
    const { ask } = await world();
    const page = await openPage();
    const feed = page.getByRole('table').filter({ hasText: 'Latency' });
    // Until the console reads the gateway's feed.
    for (let turn = 0; (await feed.count()) === 0; turn++) {
      assert.is(await ask(`I will kill you, turn ${turn}`), 200);
      await page.waitForTimeout(250);
      if (turn === 40) throw new Error('No verdict arrived');
    }
    await feed
      .getByRole('row', { name: /violence/ })
      .first()
      .waitFor();
    assert.not.match(await page.content(), 'kill you, turn');
  });

  needing(MISSING_BROWSER, 'lets a key rest and releases it again', async () => {
    const { ask } = await world();
    const page = await openPage();
    const keys = page.getByRole('table').filter({ hasText: 'Fingerprint' });
    for (const number of [0, 1]) {
      await keys
        .getByRole('row')
        .nth(number + 1)
        .getByRole('button', { name: /^Rest/ })
        .click();
      const dialog = page.getByRole('dialog');
      await dialog.getByRole('combobox').selectOption({ index: 0 });
      await dialog.getByRole('button', { name: 'Rest' }).click();
      await keys
        .getByRole('row')
        .nth(number + 1)
        .getByText('manual')
        .waitFor();
    }
    await keys
      .getByText(/^(?:4m|5m)/)
      .first()
      .waitFor();
    assert.is(await ask('a text without a key'), 503);
    await keys
      .getByRole('button', { name: /^Release/ })
      .first()
      .click();
    await keys.getByText('Active').waitFor();
    assert.is(await ask('a text without a key'), 200);
  });

  needing(MISSING_BROWSER, 'wrote no error and received no secret, and ends with what was started for it', async () => {
    const { browser, end } = await world();
    const [problems, received] = [browser.problems(), browser.received()];
    await end();
    assert.equal(problems, []);
    assert.not.match(received, SECRETS);
  });
});
