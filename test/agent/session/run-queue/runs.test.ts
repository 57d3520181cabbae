import * as assert from 'uvu/assert';
import { createRunQueue } from '../../../../src/agent/session/run-queue.ts';
import { describe, rejection } from '../../../check.ts';
import { sessionOf } from '../../store/samples.ts';
import { alone, answerTo, turn, userOf, world } from './world.ts';

describe('runs', (check) => {
  check('go on after one that failed, and report it', async () => {
    const { runs, open, bugs } = world();
    const [first, second] = ['1', '2'].map((id) => runs.run(sessionOf('a'), userOf('a', id)));
    await turn();
    const broken = new Error('the store is gone');
    open.shift()?.fail(broken);
    assert.is(await rejection(first ?? Promise.resolve()), broken);
    await turn();
    open[0]?.finish();
    assert.is((await second)?.parentID, '2');
    await turn();
    assert.equal(bugs, [broken]);
    assert.equal(await runs.statuses(), {});
  });

  check('go on when they cannot be published', async () => {
    const bugs: unknown[] = [];
    const runs = createRunQueue({
      ...alone(),
      answer: async ({ user }) => answerTo(user, false),
      publishStatus: async () => {
        throw new Error('the store is gone');
      },
      onBug: (error) => void bugs.push(error),
    });
    await runs.run(sessionOf('a'), userOf('a', '1'));
    await turn();
    assert.equal(await runs.statuses(), {});
    assert.is(bugs.length, 1);
  });

  check('report that a session is idle only where no answer has reported it with its end', async () => {
    const reported: string[] = [];
    const ends: string[] = [];
    const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const runs = createRunQueue({
      ...alone(),
      answer: async ({ user, atEnd }) => {
        const gate = gates[Number(user.id)];
        if (user.id !== '1') ends.push(...((await atEnd()).drafts ?? []).map(({ type }) => `${user.id} ${type}`));
        await gate?.promise;
        if (user.id === '1') throw new Error('the store is gone');
        return answerTo(user, false);
      },
      publishStatus: async ({ id }, { type }) => void reported.push(`${id} ${type}`),
      onBug: () => {},
    });
    const run = (id: string) => runs.run(sessionOf('a'), userOf('a', id)).catch(() => {});
    const first = run('0');
    await turn();
    assert.equal(ends, ['0 session.status', '0 session.idle']);
    // It comes while the end of the first is being stored, and fails before an end of its own.
    const second = run('1');
    for (const gate of gates) gate.resolve();
    await Promise.all([first, second]);
    await turn();
    assert.equal(reported, ['a idle']);
    await run('2');
    await turn();
    assert.equal(reported, ['a idle']);
    assert.equal(ends.slice(2), ['2 session.status', '2 session.idle']);
  });

  check('report that a session is idle when an answer fails after its end was to be reported', async () => {
    const reported: string[] = [];
    const runs = createRunQueue({
      ...alone(),
      answer: async ({ atEnd }) => {
        await atEnd();
        throw new Error('the store is gone');
      },
      publishStatus: async ({ id }, { type }) => void reported.push(`${id} ${type}`),
      onBug: () => {},
    });
    await rejection(runs.run(sessionOf('a'), userOf('a', '1')));
    await turn();
    assert.equal(reported, ['a idle']);
  });

  check('that come after an abort do not keep it waiting', async () => {
    const { runs, open } = world();
    const first = runs.run(sessionOf('a'), userOf('a', '1'));
    await turn();
    const aborted = runs.abort('a');
    const second = runs.run(sessionOf('a'), userOf('a', '2'));
    await aborted;
    assert.is((await first).error?.name, 'MessageAbortedError');
    await turn();
    assert.equal(
      open.map(({ user }) => user.id),
      ['2'],
    );
    assert.equal(await runs.statuses(), { a: { type: 'busy' } });
    open[0]?.finish();
    assert.is((await second).error, undefined);
  });

  check('end by the id of their prompt, and others go on', async () => {
    const { runs, open } = world();
    const [first, second, third] = ['1', '2', '3'].map((id) => runs.run(sessionOf('a'), userOf('a', id)));
    await turn();
    await runs.abort('a', '1');
    assert.is((await first)?.error?.name, 'MessageAbortedError');
    await runs.abort('a', '1');
    const thirdAborted = runs.abort('a', '3');
    await turn();
    open[0]?.finish();
    assert.is((await second)!.error, undefined);
    await thirdAborted;
    assert.is((await third)?.error?.name, 'MessageAbortedError');
  });

  check('that come to a session which is being closed are aborted, until it is opened again', async () => {
    const { runs, open, reported } = world();
    const first = runs.run(sessionOf('a'), userOf('a', '1'));
    await turn();
    const closed = runs.close('a');
    assert.ok(runs.isClosing('a'));
    const [second, other] = [runs.run(sessionOf('a'), userOf('a', '2')), runs.run(sessionOf('b'), userOf('b', '1'))];
    await closed;
    assert.equal(Object.keys(await runs.statuses()), ['b']);
    assert.is((await second).error?.name, 'MessageAbortedError');
    assert.is((await first).error?.name, 'MessageAbortedError');
    assert.is((await runs.run(sessionOf('a'), userOf('a', 'late'))).error?.name, 'MessageAbortedError');
    open[0]?.finish();
    assert.is((await other).error, undefined);
    assert.ok(reported.includes('a idle'));
    runs.open('a');
    assert.not.ok(runs.isClosing('a'));
    const third = runs.run(sessionOf('a'), userOf('a', '3'));
    await turn();
    open[0]?.finish();
    assert.is((await third).error, undefined);
  });

  check('are counted, those that run and those that wait', async () => {
    const { runs, open } = world();
    assert.equal(runs.counts(), { running: 0, waiting: 0 });
    for (const id of ['1', '2', '3']) void runs.run(sessionOf('a'), userOf('a', id));
    void runs.run(sessionOf('b'), userOf('b', '1'));
    await turn();
    assert.equal(runs.counts(), { running: 2, waiting: 2 });
    open[0]?.finish();
    await turn();
    assert.equal(runs.counts(), { running: 2, waiting: 1 });
    await runs.stop();
    assert.equal(runs.counts(), { running: 0, waiting: 0 });
  });

  check('all end with the server, also those that come while it stops', async () => {
    const { runs } = world();
    void runs.run(sessionOf('a'), userOf('a', '1'));
    await turn();
    const stopped = runs.stop();
    const late = runs.run(sessionOf('a'), userOf('a', '2'));
    await stopped;
    assert.equal(await runs.statuses(), {});
    assert.is((await late).error?.name, 'MessageAbortedError');
  });

  check('that are begun after the end are aborted at once', async () => {
    const { runs } = world();
    await runs.stop();
    assert.is((await runs.run(sessionOf('a'), userOf('a', '1'))).error?.name, 'MessageAbortedError');
  });
});
