import * as assert from 'uvu/assert';
import { systemClock } from '../../../src/adapter/node/clock.ts';
import type { DisconnectPolicy } from '../../../src/bridge/answer/turn-request.ts';
import type { Clock } from '../../../src/core/clock.ts';
import { calling, outcome, type Script, toolNamed } from '../../agent/harness/world.ts';
import { describe } from '../../check.ts';
import { answering, byPrompt, dictated, lastTextTo } from '../harness/model-scripts.ts';
import { calls, endsWith, polite } from '../harness/story-world.ts';
import {
  assistant,
  type BridgeGiven,
  type BridgeWorld,
  contentIn,
  dataIn,
  prompts,
  quietTime,
  sessionsMade,
  until,
  user,
  withBridge,
} from '../harness/world.ts';

const WORDS = 'pay five';
const BODY = { messages: [user(WORDS)], input: WORDS };
const DESK = { 'x-session-id': 'desk' };
const KEYED = { 'idempotency-key': 'pay-once' };
const MARKED = { 'x-stainless-retry-count': '1' };
const PATHS = ['/v1/chat/completions', '/v1/responses'] as const;

type Payment = {
  readonly world: BridgeWorld;
  /** Resolves when the tool is called. */
  readonly begun: Promise<void>;
  /** Lets the tool end. */
  readonly pay: () => void;
  /** How often the tool was called. */
  readonly count: () => number;
};

/** A model that pays with a tool, which takes its time, and then says that it has. */
const withPayment = (
  onDisconnect: DisconnectPolicy,
  body: (payment: Payment) => Promise<void>,
  more: BridgeGiven = {},
): Promise<void> => {
  const begun = Promise.withResolvers<void>();
  const paid = Promise.withResolvers<void>();
  let count = 0;
  const tool = toolNamed('pay', async (_input, { signal }) => {
    count += 1;
    begun.resolve();
    const aborted = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    await Promise.race([paid.promise, aborted]);
    return outcome('paid');
  });
  const script: Script = async function* (request, signal) {
    const isPaid = lastTextTo(request) === '';
    yield* (
      isPaid
        ? answering(() => 'It is paid')
        : byPrompt(
            { [WORDS]: calling({ name: 'pay', input: {} }), long: answering(() => 'long '.repeat(800_000)) },
            polite,
          )
    )(request, signal);
  };
  return withBridge({ tools: [tool], scripts: [script], settings: { onDisconnect }, ...more }, (world) =>
    body({ world, begun: begun.promise, pay: paid.resolve, count: () => count }),
  );
};

/** The text of a whole answer of either endpoint. */
const textIn = (body: string): string => {
  const { choices, output = [] } = JSON.parse(body) as {
    choices?: { message: { content: string } }[];
    output?: { type: string; content?: { text: string }[] }[];
  };
  return choices?.[0]?.message.content ?? output.find(({ type }) => type === 'message')?.content?.[0]?.text ?? '';
};

describe('a turn whose client runs out of patience while a tool runs', (check) => {
  const grace = { kind: 'grace', ms: 5000 } as const;
  const ways: readonly [string, Readonly<Record<string, string>>, Readonly<Record<string, string>>][] = [
    ['marked as a retry', {}, MARKED],
    ['with the same Idempotency-Key', KEYED, { ...KEYED, ...MARKED }],
    ['by hand', {}, {}],
    ['by hand in a named session', DESK, DESK],
  ];
  for (const path of PATHS)
    for (const stream of [false, true])
      for (const [how, headers, again] of ways)
        check(`is joined by the same request ${how}: ${path}, ${stream ? 'streamed' : 'whole'}`, () =>
          withPayment(grace, async ({ world, begun, pay, count }) => {
            const body = { ...BODY, stream };
            const first = calls(world, path, body, headers);
            await begun;
            if (stream) await (await first.answered).body?.cancel();
            first.leave();
            if (!stream) assert.is((await first.answered).status, 499);
            await quietTime(30);
            const retry = world.send(path, body, again);
            await quietTime(30);
            pay();
            const answer = await (await retry).text();
            assert.is(stream ? dataIn(answer).map(contentIn).join('') : textIn(answer), 'It is paid');
            await endsWith(world, 0);
            assert.equal([count(), prompts(world).length, sessionsMade(world).length], [1, 1, 1]);
          }),
        );

  check('is answered to a retry that comes after its end', () =>
    withPayment(grace, async ({ world, begun, pay, count }) => {
      const first = calls(world, '/v1/chat/completions', BODY);
      await begun;
      first.leave();
      pay();
      await endsWith(world, 0);
      assert.is((await world.chat(BODY)).text, 'It is paid');
      assert.equal([count(), prompts(world).length], [1, 1]);
    }),
  );

  check('is not shared with another chat that begins with the same words', () =>
    withPayment(grace, async ({ world, begun, pay }) => {
      const first = world.chat(BODY);
      await begun;
      const other = world.chat(BODY);
      await quietTime(30);
      pay();
      const [one, two] = await Promise.all([first, other]);
      assert.is.not(one.name, two.name);
      assert.is.not(one.json.id, two.json.id);
      assert.is(prompts(world).length, 2);
    }),
  );

  for (const [how, messages] of [
    ['with new words alone', [user('never mind')]],
    ['with all that was said', [...BODY.messages, assistant(''), user('never mind')]],
  ] as const)
    check(`ends at once when its client goes on in a named session, ${how}`, () =>
      withPayment({ kind: 'grace', ms: 60_000 }, async ({ world, begun }) => {
        const first = calls(world, '/v1/chat/completions', BODY, DESK);
        await begun;
        first.leave();
        await first.answered;
        assert.is((await world.chat({ messages }, DESK)).text, 're never mind');
        await endsWith(world, 1);
      }),
    );
});

describe('a turn that was aborted', (check) => {
  for (const [how, headers, again] of [
    ['marked as a retry', {}, MARKED],
    ['with the same Idempotency-Key', KEYED, KEYED],
    ['by hand at once', {}, {}],
  ] as const)
    check(`after a tool had run is not run again by the same request ${how}`, () =>
      withPayment({ kind: 'abort' }, async ({ world, begun, count }) => {
        const first = calls(world, '/v1/chat/completions', BODY, headers);
        await begun;
        first.leave();
        await first.answered;
        for (const _ of [1, 2]) {
          const refused = await world.send('/v1/chat/completions', BODY, again);
          assert.equal([refused.status, refused.headers.get('x-should-retry')], [409, 'false']);
          const reported = await refused.text();
          assert.match(reported, '"code":"turn_aborted"');
          assert.match(reported, 'Tools were called before: pay');
        }
        await endsWith(world, 1);
        assert.equal([count(), prompts(world).length], [1, 1]);
      }),
    );

  check('before any tool had run is run anew by a retry', () => {
    const hanging = dictated();
    const scripts = [hanging.script, polite];
    const play = async ({ world }: Payment): Promise<void> => {
      const first = calls(world, '/v1/chat/completions', { messages: [user('hello')] }, KEYED);
      await hanging.begun;
      first.leave();
      await hanging.left;
      assert.is((await world.chat({ messages: [user('hello')] }, KEYED)).text, 're hello');
    };
    return withPayment({ kind: 'abort' }, play, { scripts });
  });

  check('leaves a conversation that can be asked what was done', () =>
    withPayment({ kind: 'grace', ms: 50 }, async ({ world, begun, count }) => {
      const first = calls(world, '/v1/chat/completions', BODY, DESK);
      await begun;
      first.leave();
      await endsWith(world, 1);
      const refused = await world.send('/v1/chat/completions', BODY, { ...DESK, ...MARKED });
      assert.match(await refused.text(), '"turn_aborted"');
      assert.is((await world.chat({ messages: [user('was it paid?')] }, DESK)).text, 're was it paid?');
      assert.equal([count(), sessionsMade(world).length], [1, 1]);
    }),
  );
});

describe('an answered request whose text the bridge does not keep', (check) => {
  /** More than a bridge would keep. */
  const answerLongTexts = async (world: BridgeWorld): Promise<void> => {
    for (const key of ['a', 'b', 'c', 'd', 'e'])
      await world.chat({ messages: [user('long')], store: false }, { 'idempotency-key': key });
  };
  check('gets its answer from the agent', () =>
    withPayment({ kind: 'detach' }, async ({ world, pay, count }) => {
      pay();
      const first = await world.chat(BODY, KEYED);
      await answerLongTexts(world);
      const again = await world.chat(BODY, KEYED);
      assert.equal([again.text, again.json.id, count()], ['It is paid', first.json.id, 1]);
    }),
  );

  check('that keeps nothing is given again in the next seconds, with its key and without', () =>
    withPayment({ kind: 'detach' }, async ({ world, pay, count }) => {
      pay();
      const body = { ...BODY, store: false };
      const first = await world.chat(body, KEYED);
      await answerLongTexts(world);
      const again = await world.chat(body, KEYED);
      assert.equal([again.text, again.json.id, count()], ['It is paid', first.json.id, 1]);
      const marked = await world.chat(body, MARKED);
      assert.equal([marked.json.id, count()], [first.json.id, 1]);
    }),
  );
});

describe('a bridge that is started anew while a turn runs', (check) => {
  const grace = { kind: 'grace', ms: 5000 } as const;
  const ways: readonly [string, Readonly<Record<string, string>>, Readonly<Record<string, string>>][] = [
    ['marked as a retry', {}, MARKED],
    ['with the same Idempotency-Key', KEYED, KEYED],
    ['by hand', {}, {}],
    ['in a named session', DESK, { ...DESK, ...MARKED }],
  ];
  for (const [how, headers, again] of ways) {
    check(`follows it for the same request ${how}`, () =>
      withPayment(grace, async ({ world, begun, pay, count }) => {
        const first = calls(world, '/v1/chat/completions', BODY, headers);
        await begun;
        const next = await world.restartKilled();
        first.leave();
        const retry = next.chat(BODY, again);
        await quietTime(100);
        pay();
        const reply = await retry;
        assert.equal([reply.text, count(), prompts(next).length], ['It is paid', 1, 0]);
        // The conversation goes on in the same session.
        const named = 'x-session-id' in headers ? headers : {};
        const more = await next.chat({ messages: [...BODY.messages, assistant(reply.text), user('thanks')] }, named);
        assert.equal([more.text, more.name], ['re thanks', reply.name]);
      }),
    );

    check(`gives its answer after its end to the same request ${how}`, () =>
      withPayment(grace, async ({ world, begun, pay, count }) => {
        const first = calls(world, '/v1/chat/completions', BODY, headers);
        await begun;
        const next = await world.restartKilled();
        first.leave();
        pay();
        await until(async () => JSON.stringify(await world.agent.get('/session/status')) === '{}');
        assert.is((await next.chat(BODY, again)).text, 'It is paid');
        assert.equal([count(), prompts(next).length], [1, 0]);
      }),
    );
  }

  check('gives an answer that no one had read before to a request marked as a retry', async () => {
    let aheadMs = 0;
    const clock: Clock = { ...systemClock, now: () => systemClock.now() + aheadMs };
    const play = async ({ world, begun, pay, count }: Payment): Promise<void> => {
      const first = calls(world, '/v1/chat/completions', BODY);
      await begun;
      first.leave();
      pay();
      await endsWith(world, 0);
      const next = await world.restart();
      aheadMs = 20_000; // Longer than an answer that was read is given again.
      const reply = await next.chat(BODY, MARKED);
      assert.equal([reply.text, count(), prompts(next).length], ['It is paid', 1, 0]);
    };
    await withPayment(grace, play, { clock });
  });

  check('gives an answer of seconds ago to a request marked as a retry, and none to one that is not', () =>
    withPayment(grace, async ({ world, pay, count }) => {
      pay();
      const first = await world.chat(BODY);
      const next = await world.restart();
      assert.is((await next.chat(BODY, MARKED)).json.id, first.json.id);
      assert.is.not((await next.chat(BODY)).json.id, first.json.id);
      assert.is(count(), 2);
    }),
  );

  check('gives it to one of two equal requests without a key, and answers the other one by itself', () =>
    withPayment(grace, async ({ world, begun, pay, count }) => {
      const first = calls(world, '/v1/chat/completions', BODY);
      await begun;
      const next = await world.restartKilled();
      first.leave();
      const both = Promise.all([next.chat(BODY), next.chat(BODY)]);
      await quietTime(100);
      pay();
      const [one, two] = await both;
      assert.is.not(one.name, two.name);
      assert.equal([count(), prompts(next).length], [2, 1]);
    }),
  );

  for (const [how, headers] of [
    ['marked as a retry', {}],
    ['with a key', KEYED],
  ] as const)
    check(`says what was cut off after a tool had run, to a request ${how}`, () =>
      withPayment(grace, async ({ world, begun, count }) => {
        const first = calls(world, '/v1/chat/completions', BODY, headers);
        await begun;
        const next = await world.restartKilled();
        first.leave();
        const [session] = await world.agent.store.sessions({});
        await world.agent.call('POST', `/session/${session?.id}/abort`);
        for (const _ of [1, 2]) {
          const refused = await next.send('/v1/chat/completions', BODY, { ...headers, ...MARKED });
          assert.equal([refused.status, refused.headers.get('x-should-retry')], [409, 'false']);
          assert.match(await refused.text(), 'Tools were called before: pay');
        }
        assert.equal([count(), prompts(next).length], [1, 0]);
      }),
    );

  for (const path of PATHS)
    check(`knows a key whose request was answered, with the id and the time of its answer: ${path}`, () =>
      withPayment(grace, async ({ world, pay, count }) => {
        pay();
        const shown = async (at: BridgeWorld) => {
          const body = await (await at.send(path, BODY, KEYED)).text();
          const { id, created, created_at } = JSON.parse(body) as Readonly<Record<string, unknown>>;
          return [textIn(body), id, created ?? created_at];
        };
        const first = await shown(world);
        const next = await world.restart();
        assert.equal([await shown(next), count()], [first, 1]);
        const other = await next.send(path, { messages: [user('else')], input: 'else' }, KEYED);
        assert.match(await other.text(), '"idempotency_key_reused"');
      }),
    );

  check('follows what an orderly stop has left', async () => {
    const startedAt = systemClock.now();
    // A stop takes eight seconds.
    const clock: Clock = {
      now: () => startedAt + (systemClock.now() - startedAt) * 20,
      after: (ms, task) => systemClock.after(ms / 20, task),
    };
    await withPayment(
      { kind: 'grace', ms: 60_000 },
      async ({ world, begun, pay, count }) => {
        const first = world.send('/v1/chat/completions', BODY);
        await begun;
        const next = await world.restart();
        assert.is((await first).status, 503);
        const retry = next.chat(BODY);
        await quietTime(100);
        pay();
        assert.equal([(await retry).text, count()], ['It is paid', 1]);
      },
      { clock },
    );
  });
});
