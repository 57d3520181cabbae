import * as assert from 'uvu/assert';
import { ModelError } from '../../../../src/agent/model/types.ts';
import { describe } from '../../../check.ts';
import { ask, asksOf, callsOf, eventsOf, isQuiet, statuses, textOf, until } from '../../harness/permission-requests.ts';
import {
  calling,
  createAgentWorld,
  failing,
  hanging,
  replying,
  type Script,
  toolNamed,
  type WorldGiven,
} from '../../harness/world.ts';
import { lastReported } from './world.ts';

/** Says nothing until it is left. */
const silent: Script = async function* (_request, signal) {
  await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  yield { kind: 'text', delta: 'never' };
};

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
