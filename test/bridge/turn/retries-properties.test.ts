import * as fc from 'fast-check';
import * as assert from 'uvu/assert';
import { createNodeHash, nodeDigest } from '../../../src/adapter/node/crypto.ts';
import { createAgentFeatures } from '../../../src/bridge/agent/features.ts';
import { createModelCatalog } from '../../../src/bridge/agent/models.ts';
import { shareReads } from '../../../src/bridge/agent/shared-reads.ts';
import type { AgentClient } from '../../../src/bridge/agent/types.ts';
import { createConversations } from '../../../src/bridge/conversation/conversations.ts';
import type { BridgeRequest } from '../../../src/bridge/request.ts';
import { waitForEach } from '../../../src/bridge/stream/polled-output.ts';
import { type AnswerReservation, type Answers, createAnswers } from '../../../src/bridge/turn/answers.ts';
import {
  createSessionFamilies,
  sharePermissionRequests,
} from '../../../src/bridge/turn/approvals/permission-requests.ts';
import { pause, untilAborted } from '../../../src/core/async.ts';
import { Fault } from '../../../src/core/fault.ts';
import { createTimeSlices } from '../../../src/core/time-slices.ts';
import { describe, thorough } from '../../check.ts';
import { createFakeClock } from '../../fake-clock.ts';
import { createFakeAgent } from '../harness/fake-agent.ts';
import { roundRobin } from '../harness/round-robin.ts';
import { createTestFeed } from '../harness/turn-world.ts';

const { SEED, RUNS = thorough(120, 1500) } = process.env;
const runs = {
  numRuns: Number(RUNS),
  includeErrorInReport: true,
  ...(SEED === undefined ? {} : { seed: Number(SEED) }),
};

const GRACE_MS = 10_000;
const WORDS = ['pay five', 'pay six'] as const;

/** How a client says that it sends a request again. */
type Manner = 'key' | 'mark' | 'hand';
type Client = {
  readonly manner: Manner;
  readonly words: string;
  readonly number: number;
  /** How long the last of an answer takes to it. */
  readonly sendingMs: number;
  leaving: AbortController | undefined;
  leftAt: number | undefined;
  /** The bridge was restarted before it was answered. */
  isCrossing: boolean;
  /** What it was answered, or the code of its failure. Then it asks no more. */
  outcome: string | undefined;
};

type Command =
  | { readonly kind: 'ask'; readonly manner: Manner; readonly words: string; readonly sendingMs?: number }
  | { readonly kind: 'leave' | 'retry' | 'complete'; readonly pick: number }
  | { readonly kind: 'pass'; readonly ms: number }
  | { readonly kind: 'restart' };

const aPick = fc.nat({ max: 1000 });
const aCommand: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('ask' as const),
      manner: fc.constantFrom<Manner>('key', 'mark', 'hand'),
      words: fc.constantFrom(...WORDS),
      sendingMs: fc.constantFrom(0, 0, 400, 3000),
    }),
  },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('leave' as const), pick: aPick }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('retry' as const), pick: aPick }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('complete' as const), pick: aPick }) },
  {
    weight: 5,
    arbitrary: fc.record({ kind: fc.constant('pass' as const), ms: fc.constantFrom(1, 500, 2000, 9000, 15_000) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('restart' as const) }) },
);

const requestOf = (words: string): BridgeRequest => ({
  ...{ model: undefined, system: '', history: [], prompt: [{ type: 'text', text: words }], isStreamed: false },
  ...{ effort: undefined, isStored: true, conversation: { kind: 'unnamed' }, isBackgroundTask: false },
  ...{ approval: undefined, ignored: [] },
});

/** A client of the agent that says nothing more once its process was killed, while the agent goes on. */
const killable = (agent: AgentClient, killed: AbortSignal): AgentClient => {
  const never = new AbortController().signal;
  const guarded: Record<string, unknown> = {};
  for (const [name, method] of Object.entries(agent))
    guarded[name] = (...given: unknown[]) => {
      const place = given.findIndex((one) => one instanceof AbortSignal);
      const signal = given[place] as AbortSignal;
      if (killed.aborted) return Promise.reject(killed.reason);
      const called = (method as (...all: unknown[]) => Promise<unknown>)(...given.with(place, never));
      return untilAborted(untilAborted(called, killed), signal);
    };
  return guarded as AgentClient;
};

/** Clients, an agent that calls a tool for each prompt, and bridges that may be killed and started anew, in turn for requests. */
const createPlay = (count: number) => {
  const clock = createFakeClock();
  const fake = createFakeAgent(clock);
  const clients: Client[] = [];
  const seen = new Set<string>();
  const running: { readonly words: string; readonly complete: () => void }[] = [];
  const prompted: string[] = [];
  let tokens = 0;
  let killed = new AbortController();
  let restarts = 0;
  /** What answers of this process have taken and not given back. */
  let taken = 0;
  fake.tools = () => ['pay'];
  fake.answer = (_sessionID, { parts }) => {
    const words = parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('');
    const number = prompted.push(words);
    const { promise, resolve } = Promise.withResolvers<string>();
    running.push({ words, complete: () => resolve(`${words}, ${number}`) });
    return promise;
  };
  const start = (): Answers => {
    const agent = killable(fake.agent, killed.signal);
    const { feed } = createTestFeed();
    const log = () => {};
    const newToken = () => `token${String(++tokens).padStart(7, '0')}abcdefgh`;
    const runInSlices = createTimeSlices(clock);
    const stores = { matching: 'prefix', limit: 1000, lifetimeMs: 86_400_000, queueLimit: 16 } as const;
    const features = createAgentFeatures(agent, clock);
    return createAnswers({
      version: '0.0.0-test',
      chance: () => 0,
      ...{ agent: shareReads(agent), feed, clock, log, newToken, runInSlices, digest: nodeDigest },
      sessionFamilies: createSessionFamilies(agent, feed),
      sharedRequests: sharePermissionRequests(agent, feed),
      conversations: createConversations({
        agent,
        feed: fake.feed,
        features,
        clock,
        log,
        runInSlices,
        newHash: createNodeHash,
        newToken,
        ...stores,
      }),
      catalog: createModelCatalog(agent, clock, undefined),
      features,
      settings: {
        ...{ agentName: undefined, asksInChat: true, dropsLeadingEcho: false },
        onDisconnect: { kind: 'grace', ms: GRACE_MS },
      },
    });
  };
  const startAll = () => roundRobin([start(), ...Array.from({ length: count - 1 }, start)]);
  let answers = startAll();

  const reserve = (): AnswerReservation => {
    const ofProcess = restarts;
    const held = new Set(['place', 'request']);
    const giveBack = (what: string) => (): void => {
      assert.ok(held.delete(what), `${what} given back twice`);
      if (ofProcess === restarts) taken -= 1;
    };
    taken += 2;
    return { end: giveBack('place'), release: giveBack('request') };
  };
  const send = (client: Client, isRetry: boolean): void => {
    const leaving = new AbortController();
    client.leaving = leaving;
    const { manner, words, number, sendingMs } = client;
    const identity = {
      key: manner === 'key' ? `key ${number}` : undefined,
      digest: nodeDigest(words),
      isRetry: isRetry && manner !== 'hand',
    };
    const read = async (): Promise<string> => {
      const { output, delivery } = await answers().start({
        request: requestOf(words),
        owner: 'me',
        identity,
        reserve,
        signal: leaving.signal,
      });
      let text = '';
      for await (const event of waitForEach(output)) {
        if (event.kind === 'text') text += event.text;
        if (event.kind === 'failure') text = event.failure.code;
      }
      if (sendingMs > 0) await pause(clock, sendingMs, leaving.signal);
      delivery.finish();
      return text;
    };
    read().then(
      (outcome) => {
        if (leaving.signal.aborted) return;
        client.outcome = outcome;
        client.leaving = undefined;
        if (isRetry) seen.add(outcome.includes(',') ? `answered ${manner}` : outcome);
      },
      (error: unknown) => {
        if (leaving.signal.aborted) return;
        const { detail } = error as Fault<{ readonly kind: string; readonly code?: string }>;
        client.outcome = detail?.code ?? detail?.kind ?? String(error);
        client.leaving = undefined;
        seen.add(client.outcome);
      },
    );
  };
  const leave = (client: Client): void => {
    client.leaving?.abort(new Fault({ kind: 'client-left' }));
    client.leaving = undefined;
    client.leftAt = clock.now();
  };
  const pickOf = <T>(from: readonly T[], pick: number): T | undefined => from[pick % Math.max(1, from.length)];
  const waiting = () => clients.filter(({ leaving }) => leaving !== undefined);
  const isAlone = ({ words, manner }: Client): boolean =>
    clients.filter((other) => other.words === words && other.manner !== 'key').length === 1 && manner === 'mark';
  /** Those that would send their request again: without a key, while the run waits, or later if no equal one was sent. */
  const impatient = () =>
    clients.filter((client) => {
      const { leaving, outcome, manner, leftAt = 0 } = client;
      const isSoon = clock.now() - leftAt < GRACE_MS;
      return leaving === undefined && outcome === undefined && (manner === 'key' || isSoon || isAlone(client));
    });
  const run = async (command: Command): Promise<void> => {
    switch (command.kind) {
      case 'ask': {
        const { manner, words, sendingMs = 0 } = command;
        const number = clients.length;
        const client: Client = {
          manner,
          words,
          number,
          sendingMs,
          leaving: undefined,
          leftAt: undefined,
          isCrossing: false,
          outcome: undefined,
        };
        clients.push(client);
        return send(client, false);
      }
      case 'leave': {
        const client = pickOf(waiting(), command.pick);
        return client && leave(client);
      }
      case 'retry': {
        const client = pickOf(impatient(), command.pick);
        return client && send(client, true);
      }
      case 'complete': {
        const one = pickOf(running, command.pick);
        if (one !== undefined) running.splice(running.indexOf(one), 1);
        return one?.complete();
      }
      case 'pass':
        return clock.advance(command.ms);
      default: {
        // What was completed for nobody is not told from what was read, where the request does not say that it is a retry.
        for (const client of impatient()) if (client.manner === 'hand') client.outcome = 'given up';
        killed.abort(new Fault({ kind: 'backend-error', reason: 'killed' }));
        for (const client of waiting()) {
          leave(client);
          client.isCrossing = true;
        }
        await clock.advance(1);
        killed = new AbortController();
        answers = startAll();
        restarts += 1;
        taken = 0;
        seen.add('restart');
      }
    }
  };
  return { clock, clients, seen, prompted, fake, run, leave, waiting, restarts: () => restarts, taken: () => taken };
};

/**
 * How many turns the requests with the same words may have. Without a key, equal ones of several clients may be taken for each
 * other over a restart, so one that was left at the agent may stay unread.
 */
const allowedTurns = (clients: readonly Client[]): number => {
  const unkeyed = clients.filter(({ manner }) => manner !== 'key');
  return clients.length + (unkeyed.length > 1 ? unkeyed.filter(({ isCrossing }) => isCrossing).length : 0);
};

const play = async (script: readonly Command[], count: number): Promise<ReadonlySet<string>> => {
  const { clock, clients, seen, prompted, fake, run, leave, waiting, restarts, taken } = createPlay(count);
  for (const command of script) {
    await run(command);
    await clock.advance(0);
    for (const words of WORDS) {
      const allowed = allowedTurns(clients.filter((client) => client.words === words));
      const ran = prompted.filter((one) => one === words).length;
      assert.ok(ran <= allowed, `${words}: ${ran} turns that called a tool, and ${allowed} are allowed`);
    }
    const told = new Map<string, Client>();
    for (const client of clients) {
      const { outcome = '', manner, words } = client;
      if (!outcome.startsWith('pay')) continue;
      assert.ok(outcome.startsWith(words), 'the answer to other words');
      const other = told.get(outcome);
      assert.ok(manner !== 'key' || other === undefined, 'a key is reached by itself alone');
      assert.ok(manner !== 'hand' || other?.manner !== 'hand', 'two persons got one answer');
      told.set(outcome, client);
    }
  }
  for (const client of waiting()) leave(client);
  await clock.advance(GRACE_MS + 5000);
  if (restarts() > 0) return seen;
  assert.is(taken(), 0, 'an answer that has ended gives everything back');
  assert.is((await fake.agent.busySessions(new AbortController().signal)).size, 0);
  return seen;
};

describe('requests of many clients that leave and send them again, over aborts and restarts of the bridge', (check) => {
  for (const [count, where] of [
    [1, 'one bridge'],
    [2, 'two bridges behind a round-robin'],
  ] as const)
    check(`run no turn twice, give no answer to another one, and leave nothing running: ${where}`, async () => {
      const seen = new Set<string>();
      await fc.assert(
        fc.asyncProperty(fc.array(aCommand, { minLength: 10, maxLength: 40, size: 'max' }), async (script) => {
          for (const what of await play(script, count)) seen.add(what);
        }),
        runs,
      );
      for (const what of ['answered key', 'answered mark', 'answered hand', 'turn_aborted', 'restart'])
        assert.ok(seen.has(what), `never came to ${what}`);
    });
});

const PAY = { kind: 'ask', manner: 'hand', words: 'pay five' } as const;
/** The last of the answer takes three seconds to its client. */
const PAY_SLOWLY = { ...PAY, sendingMs: 3000 } as const;
const LEAVE = { kind: 'leave', pick: 0 } as const;
const LEAVE_LAST = { kind: 'leave', pick: 1 } as const;
const RETRY = { kind: 'retry', pick: 0 } as const;
const COMPLETE = { kind: 'complete', pick: 0 } as const;
const RESTART = { kind: 'restart' } as const;
const pass = (ms: number): Command => ({ kind: 'pass', ms });

describe('a request without a key and a mark, behind two bridges that are killed and started anew', (check) => {
  const stories: Readonly<Record<string, readonly Command[]>> = {
    'gets the answer that was complete, and that it was reading when its bridge was killed': [
      ...[PAY, LEAVE, RETRY, LEAVE, COMPLETE, RETRY, LEAVE, pass(500), RETRY],
      ...[RESTART, RETRY, LEAVE, pass(500), RETRY],
    ],
    'gets the answer whose last was being sent when its bridge was killed': [
      ...[PAY_SLOWLY, COMPLETE, pass(500), RESTART, RETRY, pass(3000)],
    ],
    'gets it also where that happens a second time': [
      ...[PAY_SLOWLY, COMPLETE, pass(500), RESTART, RETRY, pass(1), RESTART, RETRY, pass(3000)],
    ],
    'gets the answer whose last was being sent when it has left': [
      ...[PAY_SLOWLY, COMPLETE, pass(500), LEAVE, pass(1), RETRY, pass(3000)],
    ],
    'joins its own turn beside an older one that was left complete': [
      ...[PAY, COMPLETE, LEAVE, RESTART, pass(11_000)],
      ...[PAY, pass(1), LEAVE, RETRY],
    ],
    'does not get an answer that another one has read and no bridge has recorded': [
      ...[PAY, LEAVE, PAY, COMPLETE, RETRY, pass(500), LEAVE, RETRY, LEAVE_LAST, RETRY],
      ...[RESTART, RETRY, COMPLETE, pass(1)],
    ],
  };
  for (const [what, script] of Object.entries(stories)) check(what, async () => void (await play(script, 2)));
});

const PAY_MARKED = { ...PAY, manner: 'mark' } as const;
const PAY_MARKED_SLOWLY = { ...PAY_SLOWLY, manner: 'mark' } as const;

describe('a marked retry beside an equal request of another client', (check) => {
  const stories: Readonly<Record<string, readonly Command[]>> = {
    // The other client asks when the retry leaves, and takes the turn that this one has joined.
    'joins its turn at once, also when that has waited long for it and its bridge was killed': [
      ...[PAY_MARKED, LEAVE, RESTART, pass(11_000)],
      ...[RETRY, LEAVE, PAY, pass(9000), LEAVE, COMPLETE],
      ...[RETRY, COMPLETE, RETRY, COMPLETE],
    ],
    'joins the turn that it has left at another bridge, not one that another client reads': [
      ...[PAY, PAY_MARKED, pass(15_000), LEAVE_LAST, pass(9000), RETRY],
      // It takes one bridge's turn to be asked.
      ...([{ kind: 'ask', manner: 'key', words: 'pay six' }, COMPLETE, LEAVE, pass(9000), LEAVE, RETRY] as const),
    ],
    'gets its own answer, which it has left while it was being sent the last of it': [
      ...[PAY_MARKED_SLOWLY, COMPLETE, LEAVE, pass(15_000)],
      ...[RETRY, PAY, LEAVE, RETRY, LEAVE_LAST, RETRY],
    ],
  };
  for (const [what, script] of Object.entries(stories))
    for (const [count, where] of [
      [1, 'one bridge'],
      [2, 'two bridges'],
    ] as const)
      check(`${what}: ${where}`, async () => void (await play(script, count)));
});
