import * as assert from 'uvu/assert';
import { createIds } from '../../../../src/agent/protocol/ids.ts';
import { readSessionDocument } from '../../../../src/agent/session/document.ts';
import { exportSession } from '../../../../src/agent/session/export.ts';
import { importSession } from '../../../../src/agent/session/import.ts';
import { describe } from '../../../check.ts';
import { createFakeClock } from '../../../fake-clock.ts';
import { askWithTools, callsOf, giveResults, sessionAt, weatherCall } from '../../harness/client-tools.ts';
import { answersIn, ask, messagesOf, until } from '../../harness/permission-requests.ts';
import { calling, createAgentWorld, replying, type Script } from '../../harness/world.ts';
import { errorsAt, HOUR_MS, idle, NONE, waiting } from './world.ts';

type Waiting = Awaited<ReturnType<typeof waiting>>;

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
      ({ world }) => world.clock.advance(HOUR_MS / 4 + 600_000),
      'The result of this call did not come in time.',
    ],
  ];
  for (const [what, end, why] of ends) {
    check(`are ended by ${what}, and a later result changes nothing`, async () => {
      const given = await waiting({ changes: { clientToolTimeoutMs: HOUR_MS / 4 } });
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
    const data = { message: `call "${first}" was not found` };
    assert.equal([late.status, await late.json()], [404, { name: 'NotFoundError', data }]);
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
    const refused = await world.call('POST', path, { results });
    const data = { message: 'this call was not found' };
    assert.equal([refused.status, await refused.json()], [404, { name: 'NotFoundError', data }]);
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
