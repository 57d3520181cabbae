import * as assert from 'uvu/assert';
import { createNodeHttpClient, createNodeHttpStream } from '../../../src/adapter/node/http-client.ts';

import { createAgentClient } from '../../../src/bridge/agent/client.ts';
import { createAgentEventStream } from '../../../src/bridge/agent/event-stream.ts';
import type { AgentEventRecord } from '../../../src/bridge/agent/schema.ts';
import type { AgentClient, AgentEventStream, AgentEventUpdate, Prompt } from '../../../src/bridge/agent/types.ts';
import type { BridgeFault } from '../../../src/bridge/errors.ts';
import { Fault } from '../../../src/core/fault.ts';
import { createTimeSlices } from '../../../src/core/time-slices.ts';
import { withModelServer } from '../../agent/harness/model-server.ts';
import { until } from '../../agent/harness/permission-requests.ts';
import {
  type AgentWorld,
  calling,
  createAgentWorld,
  hanging,
  replying,
  type Script,
  toolNamed,
  type WorldGiven,
} from '../../agent/harness/world.ts';
import { describe, rejection } from '../../check.ts';
import type { LocalServer } from '../../core/http/local-server.ts';

const never = new AbortController().signal;
const CREDENTIALS = { username: 'opencode', password: 'pässword:x' };
const RULES = [{ permission: '*', pattern: '*', action: 'ask' }] as const;

const promptOf = (text: string, changes: Partial<Prompt> = {}): Prompt => ({
  parts: [{ type: 'text', text }],
  model: undefined,
  variant: undefined,
  agent: undefined,
  system: '',
  hasTools: true,
  ...changes,
});

type Reach = {
  readonly world: AgentWorld;
  readonly agent: AgentClient;
  readonly local: LocalServer;
  /** Settles like the promise, and lets time go by meanwhile. */
  readonly settled: <T>(promise: Promise<T>) => Promise<T>;
  /** A feed that is open, and what it has told. */
  readonly follow: () => Promise<{ readonly feed: AgentEventStream; readonly collected: AgentEventUpdate[] }>;
};

/** The agent server of this process over real connections. One clock is everybody's. */
const withAgent = async (
  given: WorldGiven,
  body: (reach: Reach) => Promise<void>,
  credentials: typeof CREDENTIALS | undefined = undefined,
): Promise<void> => {
  const world = await createAgentWorld(given);
  const { clock } = world;
  const { httpClient, close } = createNodeHttpClient();
  const feeds: AgentEventStream[] = [];
  await withModelServer(world.server.handler, async (local) => {
    const place = { baseUrl: local.url, credentials };
    const settled = async <T>(promise: Promise<T>): Promise<T> => {
      let isOver = false;
      const over = () => {
        isOver = true;
      };
      promise.then(over, over);
      await until(world, () => isOver);
      return promise;
    };
    const follow = async () => {
      const feed = createAgentEventStream({
        ...place,
        stream: createNodeHttpStream(),
        clock,
        log: () => {},
        chance: () => 0,
      });
      feeds.push(feed);
      const collected: AgentEventUpdate[] = [];
      feed.subscribe((news) => void collected.push(news));
      await settled(feed.untilOpen(never));
      return { feed, collected };
    };
    const agent = createAgentClient({ ...place, httpClient, clock, runInSlices: createTimeSlices(clock) });
    try {
      await body({ world, agent, local, settled, follow });
    } finally {
      for (const feed of feeds) feed.stop();
    }
  });
  await close();
};

const faultOf = async (outcome: Promise<unknown>): Promise<BridgeFault> => {
  const error = await rejection(outcome);
  if (error instanceof Fault) return error.detail;
  throw error;
};
const newSession = async ({ agent, settled }: Reach): Promise<string> =>
  (await settled(agent.createSession({ title: 'a chat', metadata: { gatehouse: { a: 1 } } }, never))).id;
const textIn = (parts: readonly { readonly type: string; readonly text?: string }[]): string =>
  parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
const typesIn = (collected: readonly AgentEventUpdate[]): readonly string[] =>
  collected.map((news) => (news.kind === 'event' ? news.event.type : news.kind));
type EventOf<Type, One = AgentEventRecord> = One extends AgentEventRecord
  ? Type extends One['type']
    ? One
    : never
  : never;
const withPartsOf = <Type extends AgentEventRecord['type']>(
  collected: readonly AgentEventUpdate[],
  type: Type,
): readonly EventOf<Type>[] =>
  collected.flatMap((news) => (news.kind === 'event' && news.event.type === type ? [news.event as EventOf<Type>] : []));

describe('the agent server, over HTTP', (check) => {
  check('keeps the metadata of a session, and lists the latest first', () =>
    withAgent({}, async (reach) => {
      const { agent, settled, world } = reach;
      const first = await newSession(reach);
      await world.clock.advance(10);
      const second = await newSession(reach);
      await world.clock.advance(10);
      const listed = async () => (await settled(agent.sessions(10, never))).map(({ id }) => id);
      assert.equal(await listed(), [second, first]);
      assert.equal((await settled(agent.session(first, never))).metadata, { gatehouse: { a: 1 } });
      await settled(agent.setMetadata(first, { gatehouse: { a: [2] } }, never));
      assert.equal((await settled(agent.session(first, never))).metadata, { gatehouse: { a: [2] } });
      assert.equal(await listed(), [first, second]);
      assert.equal((await settled(agent.sessions(1, never))).length, 1);
      await settled(agent.deleteSession(first, never));
      assert.equal(await listed(), [second]);
      const gone = [agent.session(first, never), agent.messages(first, never), agent.deleteSession(first, never)];
      for (const outcome of [...gone, agent.prompt(first, promptOf('hello'), never)])
        assert.is((await settled(faultOf(outcome))).kind, 'not-found');
    }),
  );

  check('changes metadata only on top of what the bridge has read, and lists what was updated since', () =>
    withAgent({}, async (reach) => {
      const { agent, settled, world } = reach;
      const id = await newSession(reach);
      const written = (revision: number, words: string) => ({ gatehouse: { revision, words } });
      const write = (revision: number, words: string) =>
        settled(agent.setMetadata(id, written(revision, words), never, revision - 1));
      assert.is(await write(1, 'one'), 'stored');
      await world.clock.advance(10);
      const other = await newSession(reach);
      // The one has begun with the same revision as the other.
      const both = await Promise.all([write(2, 'two'), write(2, 'other two')]);
      assert.equal([...both].sort(), ['outdated', 'stored']);
      const words = both[0] === 'stored' ? 'two' : 'other two';
      assert.equal((await settled(agent.session(id, never))).metadata, written(2, words));
      assert.is(await write(2, 'late'), 'outdated');
      assert.is(await write(3, 'three'), 'stored');
      const { time } = await settled(agent.session(other, never));
      await world.clock.advance(10);
      assert.is(await write(4, 'four'), 'stored');
      const listed = (sinceMs: number) => settled(agent.sessions(10, never, sinceMs));
      assert.equal(
        (await listed(time.updated)).map((session) => session.id),
        [id, other],
      );
      assert.equal(
        (await listed(time.updated + 1)).map((session) => session.id),
        [id],
      );
    }),
  );

  check('takes a prompt with all that belongs to it', () =>
    withAgent({ tools: [toolNamed('docs_search')] }, async (reach) => {
      const { agent, settled, world } = reach;
      const id = await newSession(reach);
      const answer = await settled(
        agent.prompt(
          id,
          promptOf('Good morning', {
            parts: [
              { type: 'text', text: 'what was said before', synthetic: true },
              { type: 'text', text: 'Good morning, 世界 😀' },
              { type: 'file', mime: 'image/png', filename: 'a.png', url: 'data:image/png;base64,iVBORw0KGgo=' },
            ],
            model: { providerID: 'demo', modelID: 'main' },
            system: 'Speak like a pirate',
          }),
          never,
        ),
      );
      assert.is(textIn(answer.parts), 'hello');
      assert.is(answer.info.role === 'assistant' && answer.info.finish, 'stop');
      assert.match(world.asked[0]?.system ?? '', 'Speak like a pirate');
      assert.match(JSON.stringify(world.asked[0]?.messages), 'what was said before');
      const [question, outputText, ...others] = await settled(agent.messages(id, never));
      assert.equal(others, []);
      assert.equal(
        question?.parts.map((part) => [part.type, part.type === 'text' && part.synthetic]),
        [
          ['text', true],
          ['text', undefined],
          ['file', false],
        ],
      );
      assert.equal(outputText, answer);
    }),
  );

  check('shows the model no tools for a prompt that wants none, and for that one alone', () =>
    withAgent({ tools: [toolNamed('docs_search')] }, async (reach) => {
      const { agent, settled, world } = reach;
      const id = await newSession(reach);
      for (const hasTools of [false, true]) await settled(agent.prompt(id, promptOf('hello', { hasTools }), never));
      assert.equal(
        world.asked.map(({ tools }) => tools.map(({ name }) => name)),
        [[], ['docs_search']],
      );
    }),
  );

  check('answers after minutes of blanks', async () => {
    const ready = Promise.withResolvers<void>();
    const late: Script = async function* (request, signal) {
      await ready.promise;
      yield* replying('at last')(request, signal);
    };
    await withAgent({ scripts: [late] }, async (reach) => {
      const { agent, settled, world } = reach;
      const asked = agent.prompt(await newSession(reach), promptOf('hello'), never);
      await until(world, () => world.asked.length === 1);
      for (let minute = 0; minute < 10; minute++) await world.clock.advance(60_000);
      ready.resolve();
      assert.is(textIn((await settled(asked)).parts), 'at last');
    });
  });

  check('knows who is at work, and stops', () =>
    withAgent({ scripts: [hanging] }, async (reach) => {
      const { agent, settled, world } = reach;
      const id = await newSession(reach);
      await newSession(reach);
      const asked = agent.prompt(id, promptOf('hello'), never);
      await until(world, () => world.asked.length === 1);
      assert.equal([...(await settled(agent.busySessions(never)))], [id]);
      await settled(agent.abort(id, never));
      const { info } = await settled(asked);
      assert.is(info.role === 'assistant' && info.error?.name, 'MessageAbortedError');
      assert.is((await settled(agent.busySessions(never))).size, 0);
    }),
  );

  check('goes on with a prompt whose caller has left', async () => {
    const ready = Promise.withResolvers<void>();
    const late: Script = async function* (request, signal) {
      await ready.promise;
      yield* replying('all the same')(request, signal);
    };
    await withAgent({ scripts: [late] }, async (reach) => {
      const { agent, settled, world } = reach;
      const id = await newSession(reach);
      const leaving = new AbortController();
      const outcome = faultOf(agent.prompt(id, promptOf('hello'), leaving.signal));
      await until(world, () => world.asked.length === 1);
      leaving.abort();
      assert.equal(await settled(outcome), { kind: 'client-left' });
      ready.resolve();
      await until(world, async () => (await agent.busySessions(never)).size === 0);
      assert.is(textIn((await settled(agent.messages(id, never))).at(-1)?.parts ?? []), 'all the same');
    });
  });

  check('asks, and takes the answer', () =>
    withAgent(
      {
        scripts: [
          calling({ name: 'pay', input: { amount: '5' } }),
          calling({ name: 'pay', input: { amount: '6' } }),
          replying('done'),
        ],
        tools: [toolNamed('pay')],
        rules: RULES,
      },
      async (reach) => {
        const { agent, settled, world, follow } = reach;
        const { collected } = await follow();
        const id = await newSession(reach);
        const asked = agent.prompt(id, promptOf('pay them'), never);
        const openAsk = async () => {
          await until(world, async () => (await agent.permissionRequests(never)).length === 1);
          const [ask] = await agent.permissionRequests(never);
          if (ask === undefined) throw new Error('Nobody asks');
          return ask;
        };
        const first = await openAsk();
        assert.equal([first.sessionID, first.permission], [id, 'pay']);
        assert.match(JSON.stringify(first.metadata), '5');
        await settled(agent.answerPermission(first.id, { reply: 'once' }, never));
        const second = await openAsk();
        await settled(agent.answerPermission(second.id, { reply: 'reject', message: 'too much' }, never));
        assert.is(textIn((await settled(asked)).parts), 'done');
        assert.match(JSON.stringify(world.asked.at(-1)?.messages), 'too much');
        assert.equal(await settled(agent.permissionRequests(never)), []);
        const again = agent.answerPermission(first.id, { reply: 'once' }, never);
        assert.is((await settled(faultOf(again))).kind, 'not-found');
        await until(world, () => withPartsOf(collected, 'permission.replied').length === 2);
        assert.equal(
          withPartsOf(collected, 'permission.asked').map(({ properties }) => properties),
          [first, second],
        );
      },
    ),
  );

  check('has no questions but permissions', () =>
    withAgent({}, async ({ agent, settled }) => {
      assert.is((await settled(faultOf(agent.rejectQuestion('que_1', never)))).kind, 'not-found');
    }),
  );

  check('says what is wrong with a model', () =>
    withAgent({}, async (reach) => {
      const { agent, settled } = reach;
      const model = { providerID: 'demo', modelID: 'mian' };
      const asked = agent.prompt(await newSession(reach), promptOf('hello', { model }), never);
      const detail = await settled(faultOf(asked));
      assert.is(detail.kind === 'agent-failed' && detail.code, 'agent_refused');
      assert.match(detail.kind === 'agent-failed' ? detail.message : '', /status 400: .*demo\/main/);
    }),
  );

  check('lets in who has its credentials', async () => {
    const guarded = { changes: { credentials: CREDENTIALS } };
    await withAgent(
      guarded,
      async (reach) => {
        const { feed } = await reach.follow();
        assert.ok(feed.isOpen());
        assert.match(await newSession(reach), /^ses_/);
      },
      CREDENTIALS,
    );
    await withAgent(guarded, async ({ agent, settled }) => {
      const detail = await settled(faultOf(agent.permissionRequests(never)));
      assert.is(detail.kind === 'agent-failed' && detail.code, 'agent_unauthorized');
    });
  });

  check('reports its models', async () => {
    const providers = [{ id: 'demo', models: { main: { name: 'Main', limit: { context: 1000 } } } }];
    const shown = {
      config: { model: 'demo/main' },
      provider: {},
      configProviders: { providers },
      agent: [],
      command: [],
    };
    await withAgent({ changes: { configViews: shown } }, async ({ agent, settled }) => {
      assert.equal(await settled(agent.models(never)), {
        models: [
          {
            ...{ providerID: 'demo', modelID: 'main', name: 'Main', variants: [], contextTokens: 1000 },
            ...{ adapter: undefined, media: [] },
          },
        ],
        defaultModel: 'demo/main',
        smallModel: undefined,
      });
    });
  });

  check('is unavailable while it stops', () =>
    withAgent({}, async (reach) => {
      const { feed } = await reach.follow();
      await reach.world.server.stop();
      await until(reach.world, () => !feed.isOpen());
      const detail = await reach.settled(faultOf(reach.agent.permissionRequests(never)));
      assert.equal(detail, { kind: 'unavailable', message: 'The agent server is not ready', retryAfterMs: 1000 });
    }),
  );
});

describe("the agent server's events, over HTTP", (check) => {
  check('report the whole turn', () =>
    withAgent({ scripts: [replying('Hello ', 'wörld ', '😀')] }, async (reach) => {
      const { agent, settled, world, follow } = reach;
      const { collected } = await follow();
      const id = await newSession(reach);
      const answer = await settled(agent.prompt(id, promptOf('hello'), never));
      await until(world, () => withPartsOf(collected, 'session.idle').length === 1);
      assert.is(withPartsOf(collected, 'session.created')[0]?.properties.info.id, id);
      assert.equal(
        withPartsOf(collected, 'session.status').map(({ properties }) => properties.status.type),
        ['busy', 'idle'],
      );
      const deltas = withPartsOf(collected, 'message.part.delta').map(({ properties }) => properties.delta);
      assert.ok('Hello wörld 😀'.endsWith(deltas.join('')));
      const last = withPartsOf(collected, 'message.part.updated').findLast(
        ({ properties }) => properties.part.type === 'text',
      );
      assert.is(last?.properties.part.type === 'text' && last.properties.part.text, 'Hello wörld 😀');
      assert.equal(withPartsOf(collected, 'message.updated').at(-1)?.properties.info, answer.info);
      assert.not.ok(typesIn(collected).includes('gap'));
    }),
  );

  check('are all there after the connection was cut, none twice', () =>
    withAgent({}, async (reach) => {
      const { agent, settled, world, follow, local } = reach;
      const { feed, collected } = await follow();
      const ids = [await newSession(reach)];
      await until(world, () => withPartsOf(collected, 'session.created').length === 1);
      for (const socket of local.sockets) socket.destroy();
      await until(world, () => !feed.isOpen());
      ids.push(await newSession(reach));
      await settled(agent.prompt(ids[0] ?? '', promptOf('hello'), never));
      await settled(feed.untilOpen(never));
      ids.push(await newSession(reach));
      await until(world, () => withPartsOf(collected, 'session.created').length === 3);
      assert.equal(
        withPartsOf(collected, 'session.created').map(({ properties }) => properties.info.id),
        ids,
      );
      assert.is(withPartsOf(collected, 'session.idle').length, 1);
      assert.not.ok(typesIn(collected).includes('gap'));
    }),
  );

  check('have a gap when some were forgotten meanwhile', () =>
    withAgent({}, async (reach) => {
      const { world, follow, local } = reach;
      const { feed, collected } = await follow();
      await newSession(reach);
      await until(world, () => withPartsOf(collected, 'session.created').length === 1);
      for (const socket of local.sockets) socket.destroy();
      await until(world, () => !feed.isOpen());
      for (let count = 0; count < 5; count++) await newSession(reach);
      await world.store.pruneEvents(2);
      await until(world, () => withPartsOf(collected, 'session.created').length === 3);
      assert.equal(typesIn(collected), ['session.created', 'gap', 'session.created', 'session.created']);
    }),
  );
});
