import * as assert from 'uvu/assert';
import * as v from 'valibot';
import { createPrometheusGatewayMetrics } from '../../../src/gateway/adapter/prometheus.ts';
import { CheckAnswer } from '../../../src/gateway/admin/openapi.ts';
import { describe } from '../../check.ts';
import { selectionOf } from '../harness/policies.ts';
import { judging, received } from '../harness/world.ts';
import { ADMIN_KEY, adminOver } from './world.ts';

const CANARY = 'canary text that only the operator wrote';
const checked = async (world: ReturnType<typeof adminOver>, body: object) =>
  v.parse(CheckAnswer, await (await world.admin('check', body)).json());

describe('a check of a text', (check) => {
  check('answers as a moderation does, with thresholds, model and policy', async () => {
    const world = adminOver(judging({ HR: 90 }));
    const found = await checked(world, { input: CANARY, model: 'moderation-standard' });
    const { results } = (await (await world.ask({ input: CANARY, model: 'moderation-standard' })).json()) as {
      results: object[];
    };
    assert.equal(found.result, results[0]);
    assert.equal([found.model, found.backend_model, found.cache], ['moderation-standard', 'gemma4:31b', 'miss']);
    assert.is(found.thresholds.harassment, 0.5);
    assert.is(Object.keys(found.thresholds).length, 13);
    assert.equal(found.views, [{ kind: 'visible', text: CANARY, chars: CANARY.length, found: [] }]);
    // The moderation was answered from the verdict of the check.
    assert.is(world.calls.length, 1);
    assert.is((await checked(world, { input: CANARY, model: 'moderation-standard' })).cache, 'hit');
  });

  check('shows what was hidden, decoded, and by which decoders', async () => {
    const hidden = `notes: ${Buffer.from('please hurt the neighbours tonight').toString('base64')}`;
    const found = await checked(adminOver(judging()), { input: hidden });
    assert.equal(found.hidden, ['decoded']);
    const [visible, decoded] = found.views;
    assert.is(visible?.text, hidden);
    assert.equal([decoded?.kind, decoded?.found], ['decoded', ['base64']]);
    assert.match(decoded?.text ?? '', 'please hurt the neighbours tonight');
    const encoded = Buffer.from('please hurt the neighbours').toString('base64');
    const { views } = await checked(adminOver(judging()), {
      input: `${encoded} %61%6e%64%20%74%68%65%69%72%20%64%6f%67`,
    });
    assert.equal(views[1]?.found.toSorted(), ['base64', 'percent']);
  });

  check('shows no more than the beginning of a long text', async () => {
    const { views } = await checked(adminOver(judging()), { input: 'good morning '.repeat(5000) });
    assert.equal([views[0]?.text.length, views[0]?.chars], [20_000, 65_000]);
  });

  check('is judged by the policy that it names', async () => {
    const policies = selectionOf({
      version: '7',
      policies: { strict: { categories: { harassment: { threshold: 0.2 } } } },
      use: { default: 'standard', aliases: { 'moderation-fast': 'strict' } },
    });
    const world = adminOver(judging({ HR: 30 }), { needs: { policies } });
    const judgedAs = async (body: object) => {
      const { policy, result, thresholds } = await checked(world, { input: CANARY, ...body });
      return [policy === 'strict/7', result.flagged, thresholds.harassment];
    };
    assert.equal(await judgedAs({}), [false, false, 0.5]);
    assert.equal(await judgedAs({ policy: 'strict/7' }), [true, true, 0.2]);
    assert.equal(await judgedAs({ model: 'moderation-fast' }), [true, true, 0.2]);
    const refused = await world.admin('check', { input: CANARY, policy: 'canary' });
    assert.is(refused.status, 400);
    assert.not.match(await refused.text(), 'canary');
  });

  check('refuses what is no text, and fails as a moderation does', async () => {
    const world = adminOver(judging());
    for (const body of [{}, { input: ['a'] }, { input: '' }, { input: 'a'.repeat(100_001) }, { input: 'a', model: 5 }])
      assert.is((await world.admin('check', body)).status, 400, JSON.stringify(body).slice(0, 40));
    assert.is((await world.admin('check', { input: 'a', model: 'none-such' })).status, 404);
    const failing = adminOver(() => received(500, 'broken'), { variables: { NO_VERDICT: 'flag' } });
    assert.is((await failing.admin('check', { input: CANARY })).status, 502);
  });

  check('and every other admin route say no key and no text to log, metrics or state', async () => {
    const metrics = createPrometheusGatewayMetrics({ version: '0.1.0' });
    const world = adminOver(judging({ HR: 90 }), {
      variables: { LOG_LEVEL: 'debug', MODERATION_API_KEYS: 'canary-gateway', BACKEND_API_KEYS: 'canary-b1,canary-b2' },
      needs: { metrics },
    });
    const answers = [await (await world.admin('check', { input: CANARY, model: ADMIN_KEY })).text()];
    for (let turn = 0; turn < 3; turn++) {
      await world.admin('check', { input: CANARY });
      await world.ask({ input: `${CANARY} ${turn}` }, { authorization: 'Bearer canary-gateway' });
      await world.ask({ input: CANARY }, { authorization: `Bearer ${ADMIN_KEY}` });
    }
    for (const path of ['state', 'keys/canary-b1/rest', 'keys/canary-b1/release'])
      answers.push(await (await world.admin(path, path === 'state' ? undefined : { seconds: 5 })).text());
    answers.push(await (await world.visit('/metrics')).text(), await (await world.visit('/openapi.json')).text());
    assert.not.match([...answers, ...world.logged].join('\n'), 'canary');
  });
});
