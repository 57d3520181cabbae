import * as fc from 'fast-check';
import * as assert from 'uvu/assert';
import { pause } from '../../../src/core/async.ts';
import { HttpClientError } from '../../../src/core/http/client.ts';
import type { Handler } from '../../../src/core/http/handler.ts';
import type { Script } from '../../agent/harness/world.ts';
import { createAgentWorld } from '../../agent/harness/world.ts';
import { describe, thorough } from '../../check.ts';
import { answering, lastTextTo } from '../harness/model-scripts.ts';
import { type BridgeWorld, createBridgeWorld, dataIn, joinedIn, SHOWN, user } from '../harness/world.ts';

const IF_REVISION_HEADER = 'x-gatehouse-if-revision';

const { SEED = thorough(51, 0), RUNS = thorough(12, 400) } = process.env;
const runs = {
  numRuns: Number(RUNS),
  includeErrorInReport: true,
  ...(Number(SEED) === 0 ? {} : { seed: Number(SEED) }),
};

/** What becomes of a prompt on its way, or of its answer. */
const FATES = [
  'arrives',
  'lost before it is sent',
  'arrives after its connection broke',
  'stored, and no head comes back',
  'broken after the head',
  'broken in the body',
  'held up for a moment',
  'held up on its way',
  'stored, and the head is held up',
] as const;
type Fate = (typeof FATES)[number];

/** By what a client's second request is known as the same one. */
type Identity = 'none' | 'mark' | 'key';
type Client = {
  readonly words: string;
  /** Of its conversation. */
  readonly name: string;
  readonly identity: Identity;
  readonly isStreamed: boolean;
  /** Whether nothing happens to its first prompt. */
  readonly isUndisturbed: boolean;
  /** Where it was sent last. */
  bridge: number;
  sends: number;
  leaves: number;
  leaving: AbortController | undefined;
  /** What it was told; undefined while it waits, and when it has left. */
  outcome: { readonly status: number; readonly text: string } | undefined;
};

type Command =
  | {
      readonly kind: 'ask';
      readonly bridge: number;
      readonly identity: Identity;
      readonly isStreamed: boolean;
      readonly fate: Fate;
      readonly isAtOldAgent: boolean;
      readonly answerMs: number;
      readonly outageMs: number;
    }
  | { readonly kind: 'retry'; readonly pick: number; readonly bridge: number; readonly fate: Fate }
  | { readonly kind: 'leave'; readonly pick: number }
  /** Its bridge is killed, and another one started in its place. */
  | { readonly kind: 'kill'; readonly bridge: number }
  | { readonly kind: 'pass'; readonly ms: number };

const BRIDGES = thorough(2, 3);
const aBridge = fc.nat({ max: BRIDGES - 1 });
const aPick = fc.nat({ max: 1000 });
const aFate = fc.oneof(
  { weight: 3, arbitrary: fc.constant<Fate>('arrives') },
  {
    weight: 5,
    arbitrary: fc.constantFrom(...FATES),
  },
);
const aCommand: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('ask' as const),
      bridge: aBridge,
      identity: fc.constantFrom<Identity>('none', 'mark', 'key'),
      isStreamed: fc.boolean(),
      fate: aFate,
      isAtOldAgent: fc.constantFrom(false, false, false, true),
      answerMs: fc.constantFrom(0, 0, 300, 4000),
      outageMs: fc.constantFrom(0, 0, 0, 700, 6000),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({ kind: fc.constant('retry' as const), pick: aPick, bridge: aBridge, fate: aFate }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('leave' as const), pick: aPick }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('kill' as const), bridge: aBridge }) },
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant('pass' as const), ms: fc.constantFrom(1, 60, 400, 2500, 9000) }),
  },
);

const HELD_UP_MS = 45_000;
const DESK = 'desk';
const polite = answering((words) => `re ${words}`);
const cut = () => new HttpClientError('ECONNRESET');

type Sent = { readonly request: Request; readonly body: string };
const again = ({ request, body }: Sent): Request =>
  new Request(request.url, { method: request.method, headers: request.headers, body });
/** The prompt as a server takes it that knows metadata neither beside one nor of parts. */
const asOld = ({ request, body }: Sent): Sent => {
  const headers = new Headers(request.headers);
  headers.delete(IF_REVISION_HEADER);
  const {
    parts,
    metadata: _,
    ...prompt
  } = JSON.parse(body) as {
    readonly parts: readonly { readonly metadata?: unknown }[];
    readonly metadata?: unknown;
  };
  const old = JSON.stringify({ ...prompt, parts: parts.map(({ metadata: _ofPart, ...part }) => part) });
  return { request: new Request(request.url, { method: request.method, headers }), body: old };
};
const withoutRevision = (response: Response): Response => {
  response.headers.delete(IF_REVISION_HEADER);
  return response;
};
const headOf = (response: Response, delayed: Promise<unknown>): Response => {
  const body = new ReadableStream<Uint8Array>({
    async start(controller) {
      await delayed;
      controller.error(cut());
    },
  });
  return new Response(body, { status: response.status, headers: response.headers });
};

/** Several bridges over one agent, on a clock that stands still, with what a test puts between them. */
const createPlay = async () => {
  const answerMs = new Map<string, number>();
  const slowly: Script = async function* (request, signal) {
    await pause(agent.clock, answerMs.get(lastTextTo(request)) ?? 0, signal);
    yield* polite(request, signal);
  };
  const agent = await createAgentWorld({ scripts: [slowly], titler: null, changes: { configViews: SHOWN } });
  const { clock } = agent;
  const { handler } = agent.server;
  const fates = new Map<string, Fate[]>();
  const atOld = new Set<string>();
  const outages = new Map<string, number>();
  const unconditional: string[] = [];
  const never = new AbortController().signal;
  const seen = new Set<string>();

  const createWay = () => {
    let downUntil = 0;
    const wayOf: Handler = async (request) => {
      if (clock.now() < downUntil) throw new HttpClientError('ECONNREFUSED');
      const path = new URL(request.url).pathname;
      if (request.method === 'PATCH') {
        if (!request.headers.has(IF_REVISION_HEADER)) unconditional.push(path);
        return handler(request);
      }
      if (request.method !== 'POST' || !path.endsWith('/message')) return handler(request);
      const body = await request.text();
      const words = /"text":"(\w+)"/.exec(body)?.[1] ?? '';
      const fate = fates.get(words)?.shift() ?? 'arrives';
      // That one takes it whenever it comes.
      const isLate = fate === 'arrives after its connection broke' || fate === 'held up on its way';
      const isOld = atOld.has(words) && !isLate;
      const sent = isOld ? asOld({ request, body }) : { request, body };
      const deliver = async () => {
        const response = await handler(again(sent));
        return isOld ? withoutRevision(response) : response;
      };
      seen.add(fate);
      const breakOff = (): never => {
        downUntil = Math.max(downUntil, clock.now() + (outages.get(words) ?? 0));
        throw cut();
      };
      switch (fate) {
        case 'arrives':
          return deliver();
        case 'lost before it is sent':
          return breakOff();
        case 'arrives after its connection broke':
          void pause(clock, 900, never)
            .then(deliver)
            .catch(() => {});
          return breakOff();
        case 'stored, and no head comes back':
          await deliver();
          return breakOff();
        case 'broken after the head':
          return headOf(await deliver(), Promise.resolve());
        case 'broken in the body':
          return headOf(await deliver(), pause(clock, 200, never));
        case 'held up for a moment':
          await pause(clock, 500, request.signal);
          return deliver();
        case 'held up on its way':
          await pause(clock, HELD_UP_MS, request.signal);
          return deliver();
        default: {
          const response = await deliver();
          await pause(clock, HELD_UP_MS, never);
          return response;
        }
      }
    };
    const heal = (): void => {
      downUntil = 0;
    };
    return { wayOf, heal };
  };
  const ways = Array.from({ length: BRIDGES }, createWay);
  const startBridge = async ({ wayOf }: ReturnType<typeof createWay>) => {
    const world = await createBridgeWorld({ over: agent, clock, bridges: 1 });
    world.replaceAgent(wayOf);
    return world;
  };
  const worlds = await Promise.all(ways.map(startBridge));
  const killed: BridgeWorld[] = [];
  /** Those that could not reach the agent for a while, or were killed. */
  const disturbed = new Set<number>();
  /** Lets what is ready come to rest. */
  const settle = async (): Promise<void> => {
    for (let round = 0; round < 6; round += 1) await clock.advance(0);
  };
  const passTime = async (ms: number): Promise<void> => {
    const until = clock.now() + ms;
    for (let step = 20; clock.now() < until; step = Math.min(step * 2, 1000)) {
      await clock.advance(Math.min(step, until - clock.now()));
      await settle();
    }
  };
  const clients: Client[] = [];
  const send = (client: Client, bridge: number): void => {
    const { words, name, identity, isStreamed } = client;
    const leaving = new AbortController();
    client.leaving = leaving;
    client.outcome = undefined;
    client.bridge = bridge;
    const headers = {
      'x-session-id': name,
      ...(identity === 'mark' && client.sends > 0 ? { 'x-stainless-retry-count': String(client.sends) } : {}),
      ...(identity === 'key' ? { 'idempotency-key': words } : {}),
    };
    client.sends += 1;
    const read = async () => {
      const body = { messages: [user(words)], stream: isStreamed };
      const response = await worlds[bridge]?.send('/v1/chat/completions', body, headers, leaving.signal);
      const whole = (await response?.text()) ?? '';
      const status = response?.status ?? 0;
      if (status !== 200) return { status, text: whole };
      if (!isStreamed) return { status, text: JSON.parse(whole).choices[0].message.content as string };
      if (whole.includes('"error"')) return { status: 500, text: whole };
      return { status, text: joinedIn(dataIn(whole)) };
    };
    read().then(
      (outcome) => {
        if (client.leaving !== leaving) return;
        client.outcome = outcome;
        client.leaving = undefined;
        seen.add(`answered ${outcome.status}`);
      },
      (error: unknown) => {
        if (client.leaving !== leaving) return;
        client.outcome = { status: 599, text: String(error) };
        client.leaving = undefined;
      },
    );
  };
  const ask = (given: Omit<Client, 'bridge' | 'sends' | 'leaves' | 'leaving' | 'outcome'>, bridge: number): Client => {
    const client = { ...given, bridge, sends: 0, leaves: 0, leaving: undefined, outcome: undefined };
    clients.push(client);
    send(client, bridge);
    return client;
  };
  /** It knows what the agent can do, by prompts in a conversation. */
  const prepare = async (bridge: number, name: string): Promise<void> => {
    for (let count = 0; count < 2; count += 1) {
      const words = `begin${clients.length}x`;
      const client = ask({ words, name, identity: 'none', isStreamed: false, isUndisturbed: true }, bridge);
      await passTime(2000);
      assert.is(client.outcome?.text, `re ${client.words}`);
    }
  };
  const kill = async (bridge: number): Promise<void> => {
    const [world, way] = [worlds[bridge], ways[bridge]];
    if (world === undefined || way === undefined) return;
    world.killAgent();
    killed.push(world);
    disturbed.add(bridge);
    for (const client of clients.filter((one) => one.bridge === bridge && one.leaving !== undefined)) {
      client.leaving = undefined;
      client.outcome = { status: 599, text: 'its bridge was killed' };
      // A bridge that is started later knows the last request of a conversation alone (docs/bridge.md).
      client.leaves += 1;
    }
    way.heal();
    worlds[bridge] = await startBridge(way);
    await prepare(bridge, 'elsewhere');
  };
  const pickOf = <T>(from: readonly T[], pick: number): T | undefined => from[pick % Math.max(1, from.length)];
  const run = async (command: Command): Promise<void> => {
    switch (command.kind) {
      case 'ask': {
        const words = `words${clients.length}x`;
        fates.set(words, [command.fate]);
        if (command.isAtOldAgent) atOld.add(words);
        answerMs.set(words, command.answerMs);
        outages.set(words, command.outageMs);
        const { identity, isStreamed } = command;
        const isUndisturbed = command.fate === 'arrives';
        if (command.outageMs > 0) disturbed.add(command.bridge);
        ask({ words, name: DESK, identity, isStreamed, isUndisturbed }, command.bridge);
        return;
      }
      case 'retry': {
        const failed = ({ outcome, leaving }: Client) => leaving === undefined && (outcome?.status ?? 599) >= 500;
        const client = pickOf(
          clients.filter((one) => one.identity !== 'none' && failed(one)),
          command.pick,
        );
        if (client === undefined) return;
        fates.set(client.words, [command.fate]);
        seen.add('retry');
        return send(client, command.bridge);
      }
      case 'leave': {
        const client = pickOf(
          clients.filter(({ leaving }) => leaving !== undefined),
          command.pick,
        );
        if (client === undefined) return;
        client.leaving?.abort();
        client.leaving = undefined;
        client.leaves += 1;
        return;
      }
      case 'kill': {
        seen.add('kill');
        return kill(command.bridge);
      }
      default:
        return passTime(command.ms);
    }
  };
  const asked = async (): Promise<readonly string[]> => {
    const sessions = (await agent.get('/session')) as readonly { readonly id: string }[];
    const all = await Promise.all(
      sessions.map(async ({ id }) => agent.get(`/session/${id}/message`) as Promise<readonly Message[]>),
    );
    return all.flat().flatMap(({ info, parts }) => (info.role === 'user' ? parts.map(({ text }) => text) : []));
  };
  const heal = (): void => {
    for (const way of ways) way.heal();
    fates.clear();
    outages.clear();
  };
  const stop = async (): Promise<void> => {
    const stopping = Promise.all([...worlds, ...killed].map(({ bridge }) => bridge.stop())).then(() =>
      agent.server.stop(),
    );
    await passTime(10_000);
    await stopping;
  };
  return { run, prepare, ask, asked, clients, passTime, settle, heal, stop, unconditional, seen, disturbed, atOld };
};
type Message = { readonly info: { readonly role: string }; readonly parts: readonly { readonly text: string }[] };

/** `isNew`: in a conversation that is begun by the first of the commands. */
const play = async (script: readonly Command[], isNew = false): Promise<ReadonlySet<string>> => {
  const { run, prepare, ask, asked, clients, passTime, settle, heal, stop, unconditional, seen, disturbed, atOld } =
    await createPlay();
  for (let bridge = 0; bridge < BRIDGES; bridge += 1) await prepare(bridge, isNew ? 'elsewhere' : DESK);
  for (const command of script) {
    await run(command);
    await settle();
  }
  heal();
  await passTime(100_000);
  for (const { words, outcome, leaving } of clients)
    assert.ok(leaving === undefined || outcome !== undefined, `${words} waits for ever`);
  for (let bridge = 0; bridge < BRIDGES; bridge += 1) {
    const client = ask(
      { words: `end${bridge}x`, name: DESK, identity: 'none', isStreamed: false, isUndisturbed: true },
      bridge,
    );
    await passTime(30_000);
    assert.is(client.outcome?.text, `re ${client.words}`, 'the conversation goes on');
  }
  const stored = await asked();
  await stop();
  for (const { words, outcome, identity, sends, leaves, isUndisturbed, bridge } of clients) {
    const count = stored.filter((text) => text === words).length;
    if (outcome?.status === 200) {
      assert.is(outcome.text, `re ${words}`, `the answer to its own prompt: ${outcome.text} to ${words}`);
      assert.ok(count > 0, `${words}: answered, and not stored`);
    }
    if (isUndisturbed && sends === 1 && leaves === 0 && !disturbed.has(bridge))
      assert.is(outcome?.status, 200, `${words}: ${outcome?.text}`);
    // A server that keeps neither claims nor tokens stores what comes late, and a retry may not find what it has stored.
    const allowed = identity === 'none' || atOld.has(words) ? sends : Math.min(sends, 1 + leaves);
    assert.ok(count <= allowed, `${words} (${identity}): stored ${count} times, and ${allowed} are allowed`);
  }
  assert.equal(unconditional, []);
  return seen;
};

describe('prompts of several bridges in one conversation, whose connections to the agent break', (check) => {
  check('are answered by their own answers and stored once, and the conversation goes on', async () => {
    const seen = new Set<string>();
    await fc.assert(
      fc.asyncProperty(
        fc.array(aCommand, { minLength: 4, maxLength: 14, size: 'max' }),
        fc.boolean(),
        async (script, isNew) => {
          for (const what of await play(script, isNew)) seen.add(what);
        },
      ),
      runs,
    );
    for (const what of ['retry', 'answered 200']) assert.ok(seen.has(what), `never came to ${what}`);
  });
});

const ask = (
  bridge: number,
  fate: Fate = 'arrives',
  more: Partial<Pick<Extract<Command, { kind: 'ask' }>, 'identity' | 'isAtOldAgent' | 'outageMs' | 'answerMs'>> = {},
) =>
  ({
    kind: 'ask',
    bridge,
    identity: 'mark',
    isStreamed: false,
    fate,
    answerMs: 0,
    isAtOldAgent: false,
    outageMs: 0,
    ...more,
  }) as const;
const pass = (ms: number): Command => ({ kind: 'pass', ms });
const LEAVE = { kind: 'leave', pick: 0 } as const;
const RETRY = { kind: 'retry', pick: 0, bridge: 0, fate: 'arrives' } as const;

describe('a prompt that brings the claim of its conversation', (check) => {
  const stories: Readonly<Record<string, readonly Command[]>> = {
    'is stored once where another bridge takes over before its own one can ask': [
      ...[
        ask(0, 'stored, and no head comes back', { outageMs: 6000 }),
        pass(60),
        ask(1),
        pass(9000),
        RETRY,
        pass(9000),
      ],
    ],
    'gets its own answer from a server that knows no claims, where another bridge was faster': [
      ...[ask(0, 'held up for a moment', { isAtOldAgent: true }), pass(60), ask(1), pass(9000)],
    ],
    'ends no turn of another bridge that has just begun': [
      ...[ask(1, 'held up on its way'), ask(0, 'held up on its way'), ask(1), ask(0), pass(1), ask(0)],
    ],
    'ends no turn of another bridge when its client has left and goes on': [
      ...[ask(0, 'held up on its way'), pass(60), LEAVE, ask(1, 'arrives', { answerMs: 4000 })],
      ...[pass(400), ask(0), pass(9000)],
    ],
    'ends no turn of another bridge that has taken over while a claim waited for an earlier write': [
      ...[ask(1, 'arrives after its connection broke', { identity: 'none', outageMs: 700 })],
      ...[ask(1, 'arrives', { identity: 'key' }), ask(0), pass(1), ask(0, 'arrives', { answerMs: 4000 })],
    ],
  };
  for (const [what, script] of Object.entries(stories)) check(what, async () => void (await play(script)));
  check('is followed at a server that knows no claims and sends no head', async () => {
    const outcomes = await play([ask(0, 'stored, and the head is held up', { isAtOldAgent: true }), pass(50_000)]);
    assert.not.ok(outcomes.has('answered 504'));
  });
  check('and gets no head is given up, so that a retry is answered', async () => {
    const outcomes = await play([ask(0, 'held up on its way'), pass(32_000), RETRY, pass(2000)]);
    assert.ok(outcomes.has('answered 504'));
    assert.ok(outcomes.has('answered 200'));
  });
});
