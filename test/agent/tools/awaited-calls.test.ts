import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { openSqliteStore } from '../../../src/adapter/sqlite/store.ts';
import { createIds } from '../../../src/agent/protocol/ids.ts';
import { readSessionDocument } from '../../../src/agent/session/document.ts';
import { exportSession } from '../../../src/agent/session/export.ts';
import { importSession } from '../../../src/agent/session/import.ts';
import type { Store } from '../../../src/agent/store/store.ts';
import { describe } from '../../check.ts';
import { createFakeClock } from '../../fake-clock.ts';
import {
  askWithTools,
  callIDsOf,
  callsOf,
  clientTools,
  clockCall,
  errorOf,
  giveResults,
  killableStore,
  sessionAt,
  weatherCall,
} from '../harness/client-tools.ts';
import { answersIn, ask, isQuiet, messagesOf, until } from '../harness/permission-requests.ts';
import {
  type AgentWorld,
  calling,
  createAgentWorld,
  prompt,
  replying,
  type Script,
  type WorldGiven,
} from '../harness/world.ts';

const HOUR_MS = 3_600_000;
const NONE: readonly string[] = [];
const idle = (world: AgentWorld): Promise<void> => until(world, () => isQuiet(world));

/** A session whose turn waits for the results of two calls. */
const waiting = async (given: WorldGiven = {}) => {
  const scripts = [calling(weatherCall, clockCall), ...(given.scripts ?? [replying('done')])];
  const world = await createAgentWorld({ ...given, scripts });
  const id = await world.session();
  const answer = await askWithTools(world, id);
  const [first = '', second = ''] = callIDsOf(answer);
  return { world, id, answer, first, second };
};
type Waiting = Awaited<ReturnType<typeof waiting>>;

/** How the calls are now. */
const errorsAt = async (world: AgentWorld, id: string, index = 0) => {
  const answer = answersIn(await messagesOf(world, id))[index];
  return answer === undefined ? [] : callsOf(answer).map((part) => errorOf(part) ?? part.state.status);
};

describe('calls that wait for the results of a client', (check) => {
  const ends: readonly (readonly [string, (given: Waiting) => Promise<unknown>, string])[] = [
    [
      'a new prompt',
      ({ world, id }) => ask(world, id, 'never mind'),
      'The user went on without a result of this call.',
    ],
    [
      'a prompt that wants no answer',
      ({ world, id }) => ask(world, id, 'by the way', { noReply: true }),
      'The user went on without a result of this call.',
    ],
    ['an abort', ({ world, id }) => world.post(`/session/${id}/abort`), 'The call was aborted before its result came.'],
    [
      'a revert',
      ({ world, id, answer }) => world.post(`/session/${id}/revert`, { messageID: answer.info.parentID }),
      'The session was reverted before the result of this call came.',
    ],
    [
      'a request for a summary',
      ({ world, id }) => world.post(`/session/${id}/summarize`, { providerID: 'demo', modelID: 'main' }),
      'The user went on without a result of this call.',
    ],
    [
      'the end of their time',
      ({ world }) => world.clock.advance(24 * HOUR_MS),
      'The result of this call did not come in time.',
    ],
  ];
  for (const [what, end, why] of ends) {
    check(`are ended by ${what}, and a later result changes nothing`, async () => {
      const given = await waiting();
      const { world, id, first, second } = given;
      await end(given);
      await idle(world);
      assert.equal(await errorsAt(world, id), [why, why]);
      const [part] = callsOf(answersIn(await messagesOf(world, id))[0] ?? given.answer);
      const metadata = part?.state.status === 'error' ? part.state.metadata : undefined;
      assert.equal(metadata, { clientTool: true, unanswered: true });
      assert.is((await sessionAt(world, id)).awaitedCalls, undefined);
      const asked = world.asked.length;
      const late = await giveResults(
        world,
        id,
        [first, second].map((callID) => ({ callID, output: 'late' })),
      );
      assert.equal(late, { accepted: NONE, settled: [first, second], waiting: NONE });
      await idle(world);
      assert.is(world.asked.length, asked);
    });
  }

  check('are gone with their message', async () => {
    const { world, id, answer, first } = await waiting();
    await (await world.call('DELETE', `/session/${id}/message/${answer.info.id}`)).text();
    assert.is((await sessionAt(world, id)).awaitedCalls, undefined);
    const late = await world.call('POST', `/session/${id}/client-tool-results`, {
      results: [{ callID: first, output: 'late' }],
    });
    assert.is(late.status, 404);
  });

  check('are ended by a prompt that waited already when they were made', async () => {
    const gate = Promise.withResolvers<void>();
    const slowly: Script = async function* (request, signal) {
      await gate.promise;
      yield* calling(weatherCall)(request, signal);
    };
    const world = await createAgentWorld({ scripts: [slowly, replying('second')] });
    const id = await world.session();
    const first = askWithTools(world, id);
    await until(world, () => world.asked.length === 1);
    const second = ask(world, id, 'and this');
    await world.clock.advance(10);
    gate.resolve();
    const [paused] = await Promise.all([first, second]);
    assert.is(paused.info.finish, 'tool-calls');
    assert.equal(await errorsAt(world, id), ['The user went on without a result of this call.']);
    assert.is(JSON.stringify(world.asked[1]?.messages).includes('The user went on without a result'), true);
  });

  check('are refused by their time before anything has looked for them', async () => {
    const { world, id, first } = await waiting({ changes: { clientToolTimeoutMs: 10_000 } });
    await world.clock.advance(9_999);
    assert.equal((await sessionAt(world, id)).awaitedCalls?.callIDs.length, 2);
    await world.clock.advance(1);
    const late = await giveResults(world, id, [{ callID: first, output: 'late' }]);
    assert.equal(late, { accepted: NONE, settled: [first], waiting: NONE });
  });

  check('are not in a copy of their session: there they have failed', async () => {
    const { world, id, first } = await waiting();
    const fork = (await world.post(`/session/${id}/fork`)) as { id: string };
    const copied = 'This is a copy of the session, and the result of this call went to the original.';
    assert.equal(await errorsAt(world, fork.id), [copied, copied]);
    assert.is((await sessionAt(world, fork.id)).awaitedCalls, undefined);
    const lines = await exportSession(world.store, id);
    if (lines === undefined) throw new Error('nothing was exported');
    const ids = createIds(createFakeClock(), (count) => crypto.getRandomValues(new Uint8Array(count)));
    const imported = await importSession({ store: world.store, ids }, await readSessionDocument(lines), {
      hasNewIDs: true,
    });
    assert.equal(await errorsAt(world, imported), [copied, copied]);
    assert.is((await sessionAt(world, imported)).awaitedCalls, undefined);
    assert.equal((await giveResults(world, id, [{ callID: first, output: 'rain' }])).accepted, [first]);
  });

  check('may get results without a reply: the turn does not go on', async () => {
    const { world, id, first, second } = await waiting();
    const results = [first, second].map((callID) => ({ callID, output: 'rain' }));
    assert.equal((await giveResults(world, id, results, { noReply: true })).waiting, NONE);
    await idle(world);
    assert.is(world.asked.length, 1);
    await ask(world, id, 'so?');
    assert.is(JSON.stringify(world.asked[1]?.messages).match(/"rain"/g)?.length, 2);
  });

  check('accept nothing where one of the results is of no call of the session', async () => {
    const { world, id, first } = await waiting();
    const results = [first, 'unknown'].map((callID) => ({ callID, output: 'rain' }));
    const path = `/session/${id}/client-tool-results`;
    assert.is((await world.call('POST', path, { results })).status, 404);
    assert.is((await world.call('POST', path.replace(id, 'nope'), { results })).status, 404);
    assert.is((await world.call('POST', path, { results: [] })).status, 400);
    assert.equal((await sessionAt(world, id)).awaitedCalls?.callIDs.includes(first), true);
  });

  check('are of one result each, when several come at the same time', async () => {
    const { world, id, first, second } = await waiting();
    const taken = await Promise.all(
      ['one', 'two', 'three'].map((output) =>
        giveResults(
          world,
          id,
          [first, second].map((callID) => ({ callID, output })),
        ),
      ),
    );
    assert.equal(taken.flatMap(({ accepted }) => accepted).sort(), [first, second].sort());
    await idle(world);
    assert.is(world.asked.length, 2);
  });
});

const directory = mkdtempSync(join(tmpdir(), 'awaited-'));
process.on('exit', () => rmSync(directory, { recursive: true, force: true }));
const randomIds = () => createIds(createFakeClock(), (count) => crypto.getRandomValues(new Uint8Array(count)));

/** A further server on a store, at a time. */
const restarted = async (store: Store, now: number, given: WorldGiven = {}): Promise<AgentWorld> => {
  const clock = createFakeClock(now);
  const ids = createIds(clock, (count) => crypto.getRandomValues(new Uint8Array(count)));
  return { ...(await createAgentWorld({ ...given, store, changes: { clock, ids } })), clock };
};

describe('results that come after a restart', (check) => {
  check('go on with the turn, in a store that was closed meanwhile', async () => {
    const file = join(directory, 'restart.db');
    const first = await openSqliteStore({ file, ids: randomIds() });
    const before = await waiting({ store: first });
    await before.world.server.stop();
    await first.close();
    const store = await openSqliteStore({ file, ids: randomIds() });
    const world = await restarted(store, before.world.clock.now(), { scripts: [replying('It rains.')] });
    const { id } = before;
    assert.equal(await errorsAt(world, id), ['running', 'running']);
    const results = [before.first, before.second].map((callID) => ({ callID, output: 'rain' }));
    assert.equal((await giveResults(world, id, results)).waiting, NONE);
    await idle(world);
    const answer = answersIn(await messagesOf(world, id)).at(-1);
    assert.is(answer?.info.parentID, before.answer.info.parentID);
    assert.is(answer?.info.error, undefined);
    await world.server.stop();
    await store.close();
  });

  check('are owed an answer from the moment they were taken, also hours after the prompt', async () => {
    const store = (await createAgentWorld()).store;
    const { store: mortal, kill } = killableStore(store);
    const before = await waiting({ store: mortal });
    await before.world.clock.advance(5 * HOUR_MS);
    const results = [before.first, before.second].map((callID) => ({ callID, output: 'rain' }));
    await giveResults(before.world, before.id, results);
    kill();
    assert.is((await store.owed(before.id)).length, 1);
    const world = await restarted(store, before.world.clock.now(), { scripts: [replying('It rains.')] });
    await idle(world);
    const answer = answersIn(await messagesOf(world, before.id)).at(-1);
    assert.is(answer?.info.error, undefined);
    assert.is(answer?.info.parentID, before.answer.info.parentID);
    assert.equal(await errorsAt(world, before.id), ['completed', 'completed']);
  });

  check('come too late where their time was over: the start ends the calls', async () => {
    const store = (await createAgentWorld()).store;
    const { store: mortal, kill } = killableStore(store);
    const before = await waiting({ store: mortal, changes: { clientToolTimeoutMs: 1000 } });
    kill();
    const world = await restarted(store, before.world.clock.now() + 2000);
    const why = 'The result of this call did not come in time.';
    await until(world, async () => (await errorsAt(world, before.id))[0] === why);
    assert.is((await sessionAt(world, before.id)).awaitedCalls, undefined);
  });

  check('do not touch a call that was not handed out before a kill: that was not made', async () => {
    const store = (await createAgentWorld()).store;
    const { store: mortal, kill } = killableStore(store);
    const own = Promise.withResolvers<void>();
    const world = await createAgentWorld({
      store: mortal,
      scripts: [calling(weatherCall, { name: 'desk_find', input: {} })],
      tools: [
        {
          name: 'desk_find',
          description: 'finds',
          inputSchema: { type: 'object' },
          patternsFor: () => ['*'],
          run: async () => {
            own.resolve();
            return new Promise(() => {});
          },
        },
      ],
    });
    const id = await world.session();
    await world.call('POST', `/session/${id}/prompt_async`, prompt('go', clientTools()));
    await until(world, () => world.asked.length === 1);
    await own.promise;
    kill();
    const after = await restarted(store, world.clock.now());
    const [first] = await errorsAt(after, id);
    assert.match(first ?? '', 'before this call was made, so it was not made');
  });
});
