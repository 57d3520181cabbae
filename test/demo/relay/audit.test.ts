import * as assert from 'uvu/assert';
import { auditChunks } from '../../../src/demo/relay/audit/prompt.ts';
import { auditEndpoint } from '../../../src/demo/relay/audit/settings.ts';
import { describe } from '../../check.ts';
import { guarding, isGuardCall } from '../../gateway/harness/guard-face.ts';
import { type Answer, GATEWAY_KEY, gatewayOver, judging, received, shownTextOf } from '../../gateway/harness/world.ts';
import { relayOver } from './moderated.ts';

const user = (content: unknown) => ({ role: 'user', content });
const bodyOf = (...messages: readonly unknown[]): string => JSON.stringify({ messages });

/** What of a chat is audited, and in which chunks of at most twelve characters. */
const CUTS: readonly (readonly [name: string, messages: readonly unknown[], chunks: readonly string[]])[] = [
  [
    'the latest message of the user first',
    [user('one'), { role: 'assistant', content: 'two' }, user('three')],
    ['three', 'one\n\ntwo'],
  ],
  ['its last part alone', [user([{ type: 'text', text: 'one' }, { text: 'two' }])], ['two', 'one']],
  [
    'every role',
    [{ role: 'system', content: 'a' }, user('b'), { role: 'developer', content: 'c' }, { role: 'tool', content: 'd' }],
    ['b', 'a\n\nc\n\nd'],
  ],
  ['no other role', [{ role: 'function', content: 'a' }, user('b')], ['b']],
  ['a chat without a user', [{ role: 'assistant', content: 'a' }], ['a']],
  [
    'plain cuts, each text by itself',
    [user('abcdefghijklmnop'), user('123456789abcdefg')],
    ['123456789abc', 'defg', 'abcdefghijkl', 'mnop'],
  ],
  ['characters as Unicode counts them', [user('😀'.repeat(13))], ['😀'.repeat(12), '😀']],
  [
    'no images, sounds and results of tools',
    [
      user([
        { type: 'image_url', image_url: { url: 'x' } },
        { type: 'tool_result', text: 'y' },
        { type: 'text', text: 'a' },
      ]),
    ],
    ['a'],
  ],
  [
    'no calls of tools',
    [{ role: 'assistant', content: null, tool_calls: [{ function: { arguments: 'a' } }] }, user('b')],
    ['b'],
  ],
  ['what can be read beside parts that cannot', [user(['a', { type: 7, text: 'b' }, { text: 'c' }])], ['c']],
  ['what can be read beside messages that cannot', ['a', { content: 'b' }, { role: 7 }, user('c')], ['c']],
  ['nothing', [user('  ')], []],
];

describe("the chunks of a relay's prompt audit", (check) => {
  for (const [name, messages, chunks] of CUTS)
    check(`are of ${name}`, () => assert.equal(auditChunks(bodyOf(...messages), 12), chunks));
});

const bombs: Answer = (sent) => {
  const text = shownTextOf(sent);
  const scores = { ...(text.includes('bomb') ? { ILV: 90 } : {}), ...(text.includes('doubt') ? { HR: 30 } : {}) };
  return (isGuardCall(sent) ? guarding(scores) : judging(scores))(sent);
};
type Send = (request: Request) => Promise<Response>;
const down: Send = () => Promise.reject(new TypeError('fetch failed'));
const answering =
  (status: number, body: string): Send =>
  () =>
    Promise.resolve(new Response(body, { status }));
const saying = (content: unknown) => answering(200, JSON.stringify({ choices: [{ message: { content } }] }));
const SAFE = saying('Safety: Safe\nCategories: None');
const UNSAFE = saying('Safety: Unsafe\nCategories: Violent');

/** A relay whose prompt audit asks these, in order; its content moderation is off. */
const auditedBy = (nodes: readonly Send[], more: object = {}) => {
  const clock = gatewayOver(bombs).clock;
  const relay = relayOver((request) => (nodes[Number(new URL(request.url).hostname.split('-')[1])] ?? down)(request), {
    clock,
  });
  relay.settings.mode = 'off';
  const audit = relay.world.audit.settings;
  audit.enabled = true;
  audit.blocking_enabled = true;
  audit.endpoints = nodes.map((_, index) =>
    auditEndpoint({ id: `guard-${index}`, base_url: `http://node-${index}`, token: GATEWAY_KEY, ...more }),
  );
  return { ...relay, audit };
};
const gateway = (answer: Answer = bombs): Send => gatewayOver(answer).app;

/** What becomes of the chat `hello`, which one endpoint after the other is asked about. */
const FAILOVERS: readonly (readonly [name: string, nodes: readonly Send[], outcome: string])[] = [
  ['no endpoint', [], 'prompt_guard_unavailable'],
  ['an endpoint that is down', [down], 'prompt_guard_unavailable'],
  ['the second where the first is down', [down, UNSAFE], 'prompt_guard_blocked'],
  ['the second on a 503', [answering(503, ''), SAFE], 'passed'],
  ['the second on a 429', [answering(429, ''), UNSAFE], 'prompt_guard_blocked'],
  ['nobody else on a 400', [answering(400, ''), SAFE], 'prompt_guard_unavailable'],
  ['nobody else on a 401', [answering(401, ''), SAFE], 'prompt_guard_unavailable'],
  ['nobody else on a 404', [answering(404, ''), SAFE], 'prompt_guard_unavailable'],
  ['nobody else on an answer that is invalid', [saying('Safe.'), SAFE], 'prompt_guard_invalid_response'],
  ['nobody else on an answer that is no JSON', [answering(200, 'no'), SAFE], 'prompt_guard_invalid_response'],
  [
    'nobody else on an answer that is too large',
    [saying(`Safety: Safe\nCategories: None${'\n'.repeat(300_000)}`), SAFE],
    'prompt_guard_invalid_response',
  ],
  ['a gateway', [gateway()], 'passed'],
  ['the second where a gateway has no backend', [gateway(() => received(500, 'no')), SAFE], 'passed'],
  ['the second where a judge gives no verdict', [gateway(judging()), UNSAFE], 'prompt_guard_blocked'],
  ['a gateway without a backend', [gateway(() => received(500, 'no'))], 'prompt_guard_unavailable'],
];

describe("a relay's prompt audit", (check) => {
  for (const [name, nodes, outcome] of FAILOVERS)
    check(`asks ${name}: ${outcome}`, async () => assert.is(await auditedBy(nodes).say('hello'), outcome));

  check('blocks, passes and flags what a gateway says of any message', async () => {
    const relay = auditedBy([gateway()]);
    assert.is(await relay.say('a bomb'), 'prompt_guard_blocked');
    assert.is(
      await relay.chat([user('a bomb'), { role: 'assistant', content: 'no' }, user('go on')]),
      'prompt_guard_blocked',
    );
    assert.is(await relay.say('a doubt'), 'passed');
    assert.is(await relay.say('hello'), 'passed');
    const { items } = (await relay.admin('prompt-audit/events')) as { items: { decision: string }[] };
    assert.equal(
      items.map(({ decision }) => decision),
      ['flag', 'block', 'block'],
    );
  });

  check('passes a chat without a text, and asks nobody', async () => {
    const relay = auditedBy([gateway()]);
    assert.is(await relay.say([{ type: 'image_url', image_url: { url: 'x' } }]), 'passed');
    assert.is(relay.asked.length, 0);
  });

  check('sends what a gateway answers, to the address with or without /v1', async () => {
    for (const base_url of ['http://node-0', 'http://node-0/', 'http://node-0/v1', 'http://node-0/V1/']) {
      const relay = auditedBy([SAFE], { base_url });
      await relay.say('hello');
      const [request] = relay.asked;
      assert.is(request?.url, 'http://node-0/v1/chat/completions');
      assert.is(request?.headers.get('authorization'), `Bearer ${GATEWAY_KEY}`);
      assert.equal(await request?.json(), {
        model: 'sileader/qwen3guard:0.6b',
        messages: [user('hello')],
        temperature: 0,
        max_tokens: 64,
        seed: 42,
      });
    }
  });

  check('asks chunk after chunk, and stops at the first that is blocked', async () => {
    const relay = auditedBy([gateway()], { input_limit: 10 });
    assert.is(await relay.say(`${'calm words'.repeat(3)}one bomb! ${'calm words'.repeat(3)}`), 'prompt_guard_blocked');
    assert.is(relay.asked.length, 4);
  });

  check('has the time of its first endpoint for all chunks and endpoints', async () => {
    const hanging: Send = () => new Promise(() => {});
    const relay = auditedBy([hanging, SAFE], { timeout_ms: 3000 });
    const said = relay.say('hello');
    await relay.clock.advance(3000);
    assert.is(await said, 'prompt_guard_unavailable');
  });

  check('lets a block of the content moderation come first', async () => {
    const relay = auditedBy([gateway()]);
    relay.settings.mode = 'pre_block';
    relay.settings.base_url = 'http://node-0';
    relay.settings.thresholds = { 'illicit/violent': 0.5 };
    assert.is(await relay.say('a bomb'), 'content_policy_violation');
  });

  check('is off on a fresh platform, and where it does not block', async () => {
    const relay = auditedBy([UNSAFE]);
    relay.audit.blocking_enabled = false;
    assert.is(await relay.say('hello'), 'passed');
    const fresh = relayOver(UNSAFE);
    fresh.settings.mode = 'off';
    assert.is(await fresh.say('hello'), 'passed');
    assert.is(fresh.asked.length, 0);
  });

  check('is set by its admin, who needs the version, and is shown no token', async () => {
    const relay = auditedBy([SAFE]);
    const shown = JSON.stringify(await relay.admin('prompt-audit/config'));
    assert.not.match(shown, GATEWAY_KEY);
    assert.match(shown, '"has_token":true');
    const endpoints = [{ id: 'guard-0', base_url: 'http://elsewhere' }];
    await relay.admin('prompt-audit/config', 'PUT', { expected_config_version: 1, endpoints });
    assert.is(await relay.say('hello'), 'prompt_guard_unavailable');
    assert.equal(
      relay.audit.endpoints.map(({ token, base_url }) => [token, base_url]),
      [[GATEWAY_KEY, 'http://elsewhere']],
    );
    assert.is(relay.audit.config_version, 2);
  });
});
