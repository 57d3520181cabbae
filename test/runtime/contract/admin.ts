import * as assert from 'uvu/assert';
import * as v from 'valibot';
import { AdminState, CheckAnswer, KeyChangeAnswer } from '../../../src/gateway/admin/openapi.ts';
import type { Check } from '../../check.ts';
import { type FirstEvent, firstEvent } from '../admin-events.ts';
import { fetchText, KEY } from '../client.ts';
import { ADMIN_KEY, type Worlds } from './worlds.ts';

/** What operators may do with the admin key, and clients may not. */
export const adminContract = (check: Check, { main, ask, get, shared, kept }: Worlds): void => {
  const admin = async (path: string, body?: unknown) => {
    const { gateway } = await main();
    const answer = await kept(
      fetchText(`${gateway.address}/admin/${path}`, {
        method: body === undefined ? 'GET' : 'POST',
        headers: { authorization: `Bearer ${ADMIN_KEY}`, 'content-type': 'application/json' },
        body: body === undefined ? undefined : JSON.stringify(body),
      }),
    );
    assert.is(answer.status, 200, answer.text);
    return JSON.parse(answer.text) as unknown;
  };

  check('shows its state to the admin key alone, and lets it rest and release a key', async () => {
    const unauthorized = await get('/admin/state', { headers: { authorization: `Bearer ${KEY}` } });
    assert.is(unauthorized.status, 401);
    await ask({ input: 'what does this cost?' });
    const { keys, tokens } = v.parse(AdminState, await admin('state'));
    assert.ok(tokens.some(({ prompt }) => prompt > 0));
    const [key = { fingerprint: '' }] = keys;
    const rested = v.parse(KeyChangeAnswer, await admin(`keys/${key.fingerprint}/rest`, { seconds: 60 }));
    assert.equal([rested.state, rested.reason], ['cooling', 'manual']);
    await shared();
    assert.is((await ask({ input: 'a text while no key is there' })).status, 503);
    await admin(`keys/${key.fingerprint}/release`, {});
    await shared();
    assert.is((await ask({ input: 'a text while no key is there' })).status, 200);
  });

  check('checks a text, and shows what was hidden in it', async () => {
    const input = `see ${Buffer.from('I will kill you and all the others').toString('base64')}`;
    const { result, views, hidden } = v.parse(CheckAnswer, await admin('check', { input }));
    assert.equal([result.flagged, hidden, views[1]?.found], [true, ['decoded'], ['base64']]);
  });

  check('streams verdicts as they come', async () => {
    const { gateway } = await main();
    let found: FirstEvent | undefined;
    await firstEvent({ address: gateway.address, key: ADMIN_KEY, event: 'verdict' }, async (arrived) => {
      await shared();
      await ask({ input: 'I will kill you, said the feed' });
      found = await arrived;
    });
    const data = found?.data as { flagged: string[]; face: string };
    assert.equal([data.face, data.flagged.length > 0], ['moderations', true]);
    assert.is(found?.text.includes('said the feed'), false);
  });
};
