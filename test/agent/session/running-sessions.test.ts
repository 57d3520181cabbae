import * as assert from 'uvu/assert';
import { ModelError } from '../../../src/agent/model/types.ts';
import { describe } from '../../check.ts';
import {
  answersIn,
  ask,
  asksOf,
  callsOf,
  eventsOf,
  isQuiet,
  messagesOf,
  statuses,
  textOf,
  until,
} from '../harness/permission-requests.ts';
import {
  calling,
  createAgentWorld,
  failing,
  hanging,
  prompt,
  replying,
  type Script,
  toolNamed,
  type WorldGiven,
} from '../harness/world.ts';

/** The last text that the model was told. */
const lastReported = (request: Parameters<Script>[0]): string => {
  const last = request.messages.at(-1);
  const piece = last?.role === 'user' ? last.content.at(-1) : undefined;
  return piece?.kind === 'text' ? piece.text : '';
};
const echoing: Script = async function* (request, signal) {
  yield* replying(`re: ${lastReported(request)}`)(request, signal);
};
/** Says nothing until it is left. */
const silent: Script = async function* (_request, signal) {
  await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  yield { kind: 'text', delta: 'never' };
};

describe('sessions at work', (check) => {
  check('answer ten prompts at the same time in order, each its own', async () => {
    const world = await createAgentWorld({ scripts: [echoing] });
    const id = await world.session();
    const texts = Array.from({ length: 10 }, (_, index) => `question ${index}`);
    const answers = await Promise.all(texts.map((text) => ask(world, id, text)));
    assert.equal(
      answers.map(textOf),
      texts.map((text) => `re: ${text}`),
    );
    assert.equal(world.asked.map(lastReported), texts);
    assert.equal(
      world.asked.map(({ messages }) => messages.length),
      texts.map((_, index) => 2 * index + 1),
    );
    const reported = answersIn(await messagesOf(world, id));
    assert.equal(
      reported.map(({ info }) => info.id),
      answers.map(({ info }) => info.id),
    );
    await world.clock.advance(10);
    assert.equal(
      (await eventsOf(world, 'session.status')).map(({ properties }) => properties.status.type),
      [...texts.map(() => 'busy'), 'idle'],
    );
    assert.ok(await isQuiet(world));
  });

  check('do not mix: twenty at the same time', async () => {
    const world = await createAgentWorld({ scripts: [echoing] });
    const ids = await Promise.all(Array.from({ length: 20 }, () => world.session()));
    const answers = await Promise.all(ids.map((id) => ask(world, id, `to ${id}`)));
    assert.equal(
      answers.map(textOf),
      ids.map((id) => `re: to ${id}`),
    );
    assert.equal(
      answers.map(({ info }) => info.sessionID),
      ids,
    );
  });

  check('are listed while they work, and only then', async () => {
    const world = await createAgentWorld({ scripts: [hanging] });
    const [busy, idle] = [await world.session(), await world.session()];
    const answer = ask(world, busy);
    await until(world, () => world.asked.length === 1);
    assert.equal(await statuses(world), { [busy]: { type: 'busy' } });
    await world.post(`/session/${busy}/abort`);
    await answer;
    assert.equal(await statuses(world), {});
    assert.is(await world.post(`/session/${idle}/abort`), true);
  });

  check('go on when the client that asked has left', async () => {
    const gate = Promise.withResolvers<void>();
    const slow: Script = async function* (request, signal) {
      await gate.promise;
      yield* replying('all the same')(request, signal);
    };
    const world = await createAgentWorld({ scripts: [slow] });
    const id = await world.session();
    const response = await world.call('POST', `/session/${id}/message`, { parts: [{ type: 'text', text: 'hi' }] });
    await until(world, () => world.asked.length === 1);
    await response.body?.cancel();
    gate.resolve();
    await until(world, () => isQuiet(world));
    const [answer] = answersIn(await messagesOf(world, id));
    assert.is(answer === undefined ? '' : textOf(answer), 'all the same');
    assert.is(answer?.info.error, undefined);
  });
});

type Stage = {
  readonly name: string;
  readonly given: WorldGiven;
  readonly isReached: (world: Awaited<ReturnType<typeof createAgentWorld>>, id: string) => boolean | Promise<boolean>;
};
const STAGES: readonly Stage[] = [
  { name: 'before the model answers', given: { scripts: [silent] }, isReached: (world) => world.asked.length === 1 },
  {
    name: 'in the middle of a text',
    given: { scripts: [hanging] },
    isReached: async (world) => (await eventsOf(world, 'message.part.delta')).length === 1,
  },
  {
    name: 'while a question is open',
    given: { rules: [], tools: [toolNamed('pay')], scripts: [calling({ name: 'pay', input: {} })] },
    isReached: async (world) => (await asksOf(world)).length === 1,
  },
  {
    name: 'while a tool runs',
    given: {
      tools: [
        toolNamed(
          'dig',
          (_input, { signal }) =>
            new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
        ),
      ],
      scripts: [calling({ name: 'dig', input: {} })],
    },
    isReached: async (world, id) => (await callsOf(world, id))[0]?.state.status === 'running',
  },
  {
    name: 'in the pause before another attempt',
    given: { scripts: [failing(new ModelError('api', 'busy', { isRetryable: true }))] },
    isReached: async (world) => JSON.stringify(await statuses(world)).includes('retry'),
  },
];

describe('an end before the end', (check) => {
  for (const { name, given, isReached } of STAGES) {
    for (const end of ['abort', 'delete', 'stop'] as const) {
      check(`by ${end}, ${name}, leaves nothing open and answers everyone`, async () => {
        const world = await createAgentWorld(given);
        const id = await world.session();
        const answers = Array.from({ length: 3 }, (_, index) => ask(world, id, `${index}`));
        await until(world, () => isReached(world, id));
        if (end === 'abort') assert.is(await world.post(`/session/${id}/abort`), true);
        if (end === 'delete') assert.is((await world.call('DELETE', `/session/${id}`)).status, 200);
        if (end === 'stop') await world.server.stop();
        for (const { info } of await Promise.all(answers)) {
          const message = end === 'stop' ? 'The agent server stopped before this answer was complete' : 'Aborted';
          assert.equal(info.error, { name: 'MessageAbortedError', data: { message } });
          assert.ok(info.time.completed !== undefined);
        }
        assert.equal(await world.store.unfinished(), []);
        assert.ok(world.asked.length <= 1, 'those that waited were never asked');
        assert.not.ok(
          world.logged.some((line) => line.includes('"bug"')),
          world.logged.join('\n'),
        );
        if (end === 'stop') return assert.is(world.clock.pending(), 0);
        assert.ok(await isQuiet(world));
        assert.is(world.clock.pending(), 1);
        if (end === 'delete') {
          assert.is((await world.call('GET', `/session/${id}`)).status, 404);
          assert.is((await world.call('GET', `/session/${id}/message`)).status, 404);
          assert.equal((await world.events()).at(-1)?.type, 'session.deleted');
        } else {
          const idle = (await world.events()).slice(-2).map(({ type }) => type);
          assert.equal(idle, ['session.status', 'session.idle']);
        }
      });
    }
  }

  check('of a session lets it be prompted again, with a history that is legal', async () => {
    for (const { given, isReached } of STAGES) {
      const world = await createAgentWorld({ ...given, scripts: [...(given.scripts ?? []), replying('back')] });
      const id = await world.session();
      const first = ask(world, id, 'first');
      await until(world, () => isReached(world, id));
      await world.post(`/session/${id}/abort`);
      await first;
      assert.is(textOf(await ask(world, id, 'second')), 'back');
      const messages = world.asked.at(-1)?.messages ?? [];
      for (const [index, outputText] of messages.entries()) {
        if (outputText.role !== 'assistant' || outputText.calls.length === 0) continue;
        const next = messages[index + 1];
        assert.equal(
          next?.role === 'tool' && next.results.map((result) => result.id),
          outputText.calls.map((call) => call.id),
        );
      }
      assert.is(lastReported(world.asked.at(-1) ?? ({ messages: [] } as never)), 'second');
    }
  });

  check('is an abort whatever the model makes of it', async () => {
    const clumsy: Script = async function* (_request, signal) {
      yield { kind: 'text', delta: 'so ' };
      await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new TypeError('socket'))));
    };
    const world = await createAgentWorld({ scripts: [clumsy] });
    const id = await world.session();
    const answer = ask(world, id);
    await until(world, () => world.asked.length === 1);
    await world.post(`/session/${id}/abort`);
    assert.is((await answer).info.error?.name, 'MessageAbortedError');
    assert.not.ok(world.logged.some((line) => line.includes('"bug"')));
  });

  check('also comes to a prompt that still waits for the tool servers', async () => {
    const world = await createAgentWorld({
      scripts: [replying('never')],
      changes: {
        mcp: () => ({
          start: () => {},
          settled: (_limitMs, signal) =>
            new Promise((_resolve, reject) => {
              if (signal.aborted) reject(signal.reason);
              signal.addEventListener('abort', () => reject(signal.reason));
            }),
          statuses: () => ({}),
          instructions: () => [],
          connect: async () => 'not-found',
          disconnect: async () => 'not-found',
          tools: () => [],
          stop: async () => {},
        }),
      },
    });
    const id = await world.session();
    const answers = [ask(world, id), ask(world, id)];
    await until(world, async () => Object.keys((await statuses(world)) as object).length === 1);
    const reported = (await eventsOf(world, 'session.status')).map(({ properties }) => properties.status.type);
    assert.equal(reported, ['busy']);
    await world.post(`/session/${id}/abort`);
    for (const { info } of await Promise.all(answers)) assert.is(info.error?.name, 'MessageAbortedError');
    assert.not.ok(world.logged.some((line) => line.includes('"bug"')));
  });
});

describe('a prompt that comes while its session is ended', (check) => {
  const working = async (scripts: readonly Script[]) => {
    const world = await createAgentWorld({ scripts });
    const id = await world.session();
    const first = ask(world, id, 'first');
    await until(world, () => world.asked.length === 1);
    return { world, id, first };
  };

  check('keeps no one waiting for the abort of those before it, and is answered', async () => {
    const { world, id, first } = await working([hanging, hanging]);
    const abort = world.post(`/session/${id}/abort`);
    const second = ask(world, id, 'second');
    assert.is(await abort, true);
    assert.is((await first).info.error?.name, 'MessageAbortedError');
    await until(world, () => world.asked.length === 2);
    assert.equal(await statuses(world), { [id]: { type: 'busy' } });
    assert.is(await world.post(`/session/${id}/abort`), true);
    assert.is((await second).info.error?.name, 'MessageAbortedError');
    assert.ok(await isQuiet(world));
  });

  check('finds no session any more when that is deleted, and holds nothing up', async () => {
    const { world, id, first } = await working([hanging]);
    const deleted = world.call('DELETE', `/session/${id}`);
    // Further than the beginning of the deletion, and not yet at its end.
    for (let count = 0; count < 3; count++) await Promise.resolve();
    const path = `/session/${id}`;
    const late = await Promise.all([
      world.call('POST', `${path}/message`, prompt('late')),
      world.call('POST', `${path}/prompt_async`, prompt('late')),
      world.call('POST', `${path}/message`, prompt('late', { noReply: true })),
    ]);
    assert.equal(
      late.map(({ status }) => status),
      [404, 404, 404],
    );
    assert.is((await deleted).status, 200);
    assert.is((await first).info.error?.name, 'MessageAbortedError');
    assert.is(world.asked.length, 1);
    assert.ok(await isQuiet(world));
    assert.not.ok(world.logged.some((line) => line.includes('"bug"')));
  });

  check('is not answered either when it is being stored at that moment', async () => {
    const { store } = await createAgentWorld();
    const gate = Promise.withResolvers<void>();
    let isStoring = false;
    const world = await createAgentWorld({
      store: {
        ...store,
        async commit(changes, events) {
          if (changes.some(({ kind }) => kind === 'message')) {
            isStoring = true;
            await gate.promise;
          }
          return store.commit(changes, events);
        },
      },
    });
    const id = await world.session();
    const late = world.call('POST', `/session/${id}/message`, prompt('late'));
    await until(world, () => isStoring);
    const deleted = world.call('DELETE', `/session/${id}`);
    await world.clock.advance(10);
    gate.resolve();
    assert.is((await late).status, 404);
    assert.is((await deleted).status, 200);
    assert.is(world.asked.length, 0);
    assert.ok(await isQuiet(world));
  });

  check('is taken in again when the deletion fails', async () => {
    const { store } = await createAgentWorld();
    let isBroken = true;
    const world = await createAgentWorld({
      store: {
        ...store,
        async commit(changes, events) {
          if (isBroken && changes.some(({ kind }) => kind === 'session-removed')) throw new Error('The disk is full');
          return store.commit(changes, events);
        },
      },
    });
    const id = await world.session();
    assert.is((await world.call('DELETE', `/session/${id}`)).status, 500);
    isBroken = false;
    assert.is(textOf(await ask(world, id)), 'hello');
  });

  check('and a child that is made there are refused alike', async () => {
    const { world, id, first } = await working([hanging]);
    const deleted = world.call('DELETE', `/session/${id}`);
    for (let count = 0; count < 3; count++) await Promise.resolve();
    assert.is((await world.call('POST', '/session', { parentID: id })).status, 400);
    await Promise.all([deleted, first]);
    assert.equal(await world.get('/session'), []);
  });
});

describe('a server that is asked to stop', (check) => {
  const ending = (): { readonly script: Script; readonly end: () => void } => {
    const gate = Promise.withResolvers<void>();
    return {
      async *script() {
        await gate.promise;
        yield* replying('in time')({} as never, new AbortController().signal);
      },
      end: gate.resolve,
    };
  };

  check('lets what runs come to its end, takes nothing in meanwhile, and waits no longer for it', async () => {
    const { script, end } = ending();
    const world = await createAgentWorld({ scripts: [script], changes: { drainMs: 5000 } });
    const id = await world.session();
    const answer = ask(world, id);
    await until(world, () => world.asked.length === 1);
    const stopped = world.server.stop();
    await world.clock.advance(1000);
    assert.is((await world.call('POST', `/session/${id}/message`, prompt('late'))).status, 503);
    end();
    assert.is(textOf(await answer), 'in time');
    await stopped;
  });

  check('answers what it was about to take in', async () => {
    const world = await createAgentWorld({ changes: { drainMs: 5000 } });
    const id = await world.session();
    const answer = ask(world, id);
    const stopped = world.server.stop();
    assert.is((await world.call('GET', `/session/${id}`)).status, 503);
    assert.is(textOf(await answer), 'hello');
    await stopped;
  });

  check('ends what does not come to its end', async () => {
    const world = await createAgentWorld({ scripts: [hanging], changes: { drainMs: 5000 } });
    const answer = ask(world, await world.session());
    await until(world, () => world.asked.length === 1);
    const stopped = world.server.stop();
    await world.clock.advance(4900);
    assert.equal((await world.store.unfinished()).length, 1);
    await world.clock.advance(200);
    assert.is((await answer).info.error?.name, 'MessageAbortedError');
    await stopped;
  });
});
