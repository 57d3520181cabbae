import fc from 'fast-check';
import * as assert from 'uvu/assert';
import { calling, outcome, replying, type Script, toolNamed } from '../../agent/harness/world.ts';
import { describe, thorough } from '../../check.ts';
import { messagesTo } from '../harness/model-scripts.ts';
import { type ChatMessage, functionNamed, QUESTION, resultsOf } from '../harness/tools-world.ts';
import { type BridgeWorld, createBridgeWorld, quietTime } from '../harness/world.ts';

// A client with functions of its own, whose requests are left and sent again while bridges and agents are started anew.

const { SEED, RUNS = String(thorough(3, 100)) } = process.env;
const runs = {
  numRuns: Number(RUNS),
  includeErrorInReport: true,
  // Each story takes its time, and says what failed in it.
  endOnFailure: true,
  ...(SEED === undefined ? {} : { seed: Number(SEED) }),
};

/** What a step of the model calls. */
type Step = { readonly own: number; readonly client: number };
/** What happens around a request of the client. */
type Manner =
  | { readonly kind: 'once' | 'twice' | 'stopped-bridge' | 'killed-bridge' | 'killed-agent' }
  | { readonly kind: 'left'; readonly ms: number };

const aStep: fc.Arbitrary<Step> = fc
  .record({ own: fc.nat({ max: 2 }), client: fc.nat({ max: 3 }) })
  .filter(({ own, client }) => own + client > 0);
const aManner: fc.Arbitrary<Manner> = fc.oneof(
  fc.constantFrom<Manner>({ kind: 'once' }, { kind: 'twice' }),
  fc.record({ kind: fc.constant('left' as const), ms: fc.nat({ max: 8 }) }),
  fc.constantFrom<Manner>({ kind: 'stopped-bridge' }, { kind: 'killed-bridge' }, { kind: 'killed-agent' }),
);
const aStory = fc.record({
  steps: fc.array(aStep, { minLength: 1, maxLength: 5 }),
  manners: fc.array(aManner, { minLength: 1, maxLength: 8 }),
  isNamed: fc.boolean(),
  bridges: fc.constantFrom(1, 2),
});
type Story = typeof aStory extends fc.Arbitrary<infer T> ? T : never;

/** Everything happens once, also where few stories are played. */
const EXAMPLES: readonly Story[] = [
  {
    steps: [1, 2, 3, 1].map((client) => ({ own: 1, client })),
    manners: [
      { kind: 'once' },
      { kind: 'twice' },
      { kind: 'left', ms: 2 },
      { kind: 'stopped-bridge' },
      { kind: 'killed-bridge' },
    ],
    isNamed: false,
    bridges: 1,
  },
  { steps: [{ own: 1, client: 2 }], manners: [{ kind: 'killed-agent' }], isNamed: true, bridges: 2 },
];

const OWN_MS = 3;
const TOOLS = [functionNamed('fetch')];

const play = async ({ steps, manners, isNamed, bridges }: Story): Promise<readonly string[]> => {
  const ownRuns: number[] = [];
  let asked = 0;
  let calls = 0;
  let lastSeen = '';
  const model: Script = (request, signal) => {
    lastSeen = messagesTo(request);
    const step = steps[asked];
    asked += 1;
    if (step === undefined) return replying('Done.')(request, signal);
    const made = (name: string, count: number) =>
      Array.from({ length: count }, () => ({ name, input: { n: ++calls } }));
    return calling(...made('look', step.own), ...made('fetch', step.client))(request, signal);
  };
  const look = toolNamed('look', async (input) => {
    await quietTime(OWN_MS);
    ownRuns.push((input as { readonly n: number }).n);
    return outcome('seen');
  });
  const given = {
    scripts: [model],
    tools: [look],
    bridges,
    settings: { onDisconnect: { kind: 'grace', ms: 10_000 } as const },
  };
  const first = await createBridgeWorld(given);
  const seen = new Set<string>();
  let world: BridgeWorld = first;
  // A bridge that is started anew is over the first agent.
  const isOfAgents = manners.some(({ kind }) => kind === 'killed-agent');
  try {
    const send = async (messages: readonly object[], key: string, retry: number, signal?: AbortSignal) => {
      const headers = {
        'idempotency-key': key,
        ...(retry === 0 ? {} : { 'x-stainless-retry-count': String(retry) }),
        ...(isNamed ? { 'x-session-id': 'chat-1' } : {}),
      };
      const response = await world.send('/v1/chat/completions', { messages, tools: TOOLS }, headers, signal);
      const text = await response.text();
      assert.is(response.status, 200, text);
      return JSON.parse(text).choices[0] as { readonly message: ChatMessage; readonly finish_reason: string };
    };
    const renew = async (how: 'restart' | 'restartKilled'): Promise<void> => {
      world = await world[how]();
    };
    const ask = async (messages: readonly object[], number: number) => {
      const key = `request-${number}`;
      const manner = manners[number % manners.length] ?? { kind: 'once' };
      seen.add(manner.kind);
      if (manner.kind === 'stopped-bridge' && !isOfAgents) await renew('restart');
      if (manner.kind === 'killed-bridge' && !isOfAgents) await renew('restartKilled');
      if (manner.kind === 'killed-agent') {
        world.killAgent();
        await world.startAgent();
      }
      if (manner.kind === 'left') {
        const leaving = new AbortController();
        const left = send(messages, key, 0, leaving.signal).catch(() => undefined);
        await quietTime(manner.ms);
        leaving.abort();
        await left;
        return send(messages, key, 1);
      }
      const answers = await Promise.all([
        send(messages, key, 0),
        ...(manner.kind === 'twice' ? [send(messages, key, 1)] : []),
      ]);
      for (const answer of answers) assert.equal(answer, answers[0]);
      return answers[0] ?? assert.unreachable();
    };

    /** Calls that the client has made, by their number. */
    const clientRuns = new Map<number, string>();
    const whole: object[] = [...QUESTION];
    let sent: readonly object[] = QUESTION;
    for (let number = 0; ; number += 1) {
      const answer = await ask(isNamed ? sent : whole, number);
      if (answer.finish_reason !== 'tool_calls') {
        assert.is(answer.message.content, 'Done.');
        break;
      }
      const { tool_calls: toolCalls = [] } = answer.message;
      assert.ok(toolCalls.length > 0);
      for (const {
        id,
        function: { arguments: input },
      } of toolCalls) {
        const { n } = JSON.parse(input) as { readonly n: number };
        assert.is(clientRuns.get(n), undefined, `the call ${n} was given twice`);
        clientRuns.set(n, id);
      }
      sent = resultsOf(toolCalls).map((result, index) => ({
        ...result,
        content: `result of ${JSON.parse(toolCalls[index]?.function.arguments ?? '{}').n};`,
      }));
      whole.push(answer.message, ...sent);
    }
    const count = (kind: keyof Step): number => steps.reduce((sum, step) => sum + step[kind], 0);
    assert.equal([clientRuns.size, ownRuns.length], [count('client'), count('own')]);
    assert.is(new Set(ownRuns).size, ownRuns.length, 'a call of the agent ran twice');
    for (const n of clientRuns.keys()) assert.match(lastSeen, `result of ${n};`);
    assert.is(asked, steps.length + 1);
  } finally {
    await first.stop();
  }
  return [...seen];
};

describe('functions of a client, over leaves, retries and restarts', (check) => {
  check('run once each, and none of their results is lost', async () => {
    const seen = new Set<string>();
    await fc.assert(
      fc.asyncProperty(aStory, async (story) => {
        for (const what of await play(story)) seen.add(what);
      }),
      { ...runs, examples: EXAMPLES.map((story): [Story] => [story]) },
    );
    for (const what of ['once', 'twice', 'left', 'stopped-bridge', 'killed-bridge', 'killed-agent'])
      assert.ok(seen.has(what), `never came to ${what}`);
  });
});
