import * as assert from 'uvu/assert';
import { createSupervisor, type WorkerEvents } from '../../../../src/adapter/node/workers/supervisor.ts';
import { describe, rejection } from '../../../check.ts';
import { createFakeClock } from '../../../fake-clock.ts';

type Started = { readonly number: number; readonly at: number; readonly events: WorkerEvents };

const supervised = (count: number) => {
  const clock = createFakeClock(0);
  const starts: Started[] = [];
  const lines: unknown[] = [];
  const problems: string[] = [];
  let replaced = 0;
  const supervisor = createSupervisor({
    count,
    clock,
    log: (...line) => lines.push(line),
    start: (number, events) => starts.push({ number, at: clock.now(), events }),
    onReplaced() {
      replaced += 1;
    },
    onProblems: (found) => problems.push(...found),
  });
  const last = (number: number): WorkerEvents => {
    const found = starts.findLast((start) => start.number === number);
    if (found === undefined) throw new Error(`No worker ${number} was started`);
    return found.events;
  };
  return { clock, supervisor, starts, lines, problems, last, replaced: () => replaced };
};

const problemsOf = (error: unknown): unknown => (error as { readonly problems: unknown }).problems;

describe('a supervisor of workers', (check) => {
  check('has started when all of them have', async () => {
    const { supervisor, starts, last, replaced } = supervised(2);
    assert.equal(
      starts.map(({ number }) => number),
      [1, 2],
    );
    let isStarted = false;
    supervisor.started.then(() => {
      isStarted = true;
    });
    last(1).onStarted();
    await Promise.resolve();
    assert.equal([isStarted, supervisor.running()], [false, 1]);
    last(2).onStarted();
    await supervisor.started;
    assert.equal([supervisor.running(), replaced()], [2, 0]);
  });

  check('replaces at once one that was up for a while, with the same number', async () => {
    const { clock, supervisor, starts, last, lines, replaced } = supervised(2);
    last(1).onStarted();
    last(2).onStarted();
    await clock.advance(2000);
    last(2).onEnded('SIGKILL');
    await clock.advance(0);
    assert.equal(
      starts.map(({ number }) => number),
      [1, 2, 2],
    );
    assert.is(supervisor.running(), 1);
    last(2).onStarted();
    assert.equal([supervisor.running(), replaced()], [2, 1]);
    assert.equal(lines, [
      ['warn', 'worker-ended', { worker: 2, reason: 'SIGKILL', restMs: 0 }],
      ['info', 'worker-replaced', { worker: 2 }],
    ]);
  });

  check('waits longer each time one ends early, and gives up when none runs', async () => {
    const { clock, supervisor, starts, last } = supervised(1);
    last(1).onStarted();
    const failed = rejection(supervisor.failed);
    const delays = [250, 500, 1000, 2000];
    for (const delayMs of delays) {
      last(1).onEnded('exit code 7');
      const before = starts.length;
      await clock.advance(delayMs - 1);
      assert.is(starts.length, before);
      await clock.advance(1);
      assert.is(starts.length, before + 1);
    }
    last(1).onEnded('exit code 7');
    assert.match(String(problemsOf(await failed)), /ended 5 times .* exit code 7/);
    assert.is(starts.length, 5);
    assert.is(clock.pending(), 0);
  });

  check('does not give up while another one runs', async () => {
    const { clock, supervisor, last, starts } = supervised(2);
    last(1).onStarted();
    last(2).onStarted();
    for (let turn = 0; turn < 12; turn++) {
      last(2).onEnded('SIGSEGV');
      await clock.advance(10_000);
    }
    assert.is(starts.filter(({ number }) => number === 2).length, 13);
    assert.is(supervisor.running(), 1);
  });

  check('stops everything for one that cannot start, with its words, once', async () => {
    const { clock, supervisor, last, starts } = supervised(3);
    const refused = rejection(supervisor.started);
    last(2).onFailed(['PORT: expected a number']);
    last(3).onFailed(['PORT: expected a number']);
    last(2).onEnded('exit code 1');
    await clock.advance(60_000);
    assert.equal(problemsOf(await refused), ['PORT: expected a number']);
    assert.is(starts.length, 3);
  });

  check('says why a successor cannot start, and tries again', async () => {
    const { clock, last, starts, problems } = supervised(2);
    last(1).onStarted();
    last(2).onStarted();
    await clock.advance(2000);
    last(1).onEnded('SIGKILL');
    await clock.advance(0);
    last(1).onFailed(['MODERATION_POLICY_FILE: expected the path of a file that can be read']);
    last(1).onEnded('exit code 1');
    await clock.advance(250);
    assert.is(problems.length, 1);
    assert.equal(
      starts.map(({ number }) => number),
      [1, 2, 1, 1],
    );
  });

  check('replaces none once it stops', async () => {
    const { clock, supervisor, last, starts, lines } = supervised(2);
    last(1).onStarted();
    last(2).onStarted();
    await clock.advance(5000);
    last(1).onEnded('SIGKILL');
    supervisor.stop();
    last(2).onEnded('exit code 0');
    await clock.advance(60_000);
    assert.is(starts.length, 2);
    assert.is(lines.length, 1);
  });
});
