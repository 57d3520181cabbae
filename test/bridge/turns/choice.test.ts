import * as assert from 'uvu/assert';
import * as v from 'valibot';
import type { CallAgent } from '../../../src/bridge/agent/calls.ts';
import { createChosenTurns, type StoppableTurns } from '../../../src/bridge/turns/choice.ts';
import type { TurnsPort } from '../../../src/bridge/turns/port.ts';
import { Fault } from '../../../src/core/fault.ts';
import { createLog } from '../../../src/core/log.ts';
import { describe } from '../../check.ts';
import { createFakeClock } from '../../fake-clock.ts';

const never = async (): Promise<never> => {
  throw new Error('not called');
};
const portThat = (takesClientTools: boolean, stop: () => void): StoppableTurns => ({
  ...{ begin: never, read: never, view: never, input: never, turnsOfPart: never, waitingTurns: never, leave: never },
  ...{ cancel: never, delete: never, decide: never, stop },
  async *follow() {
    yield* [];
  },
  conversations: {
    ...{ create: never, find: never, setMetadata: never, delete: never, messages: never, append: never },
    deleteMessage: never,
  },
  takesClientTools: async () => takesClientTools,
});

const unreachable = (): Fault => new Fault({ kind: 'unavailable', message: 'not there', retryAfterMs: 1000 });

/** Answers of `GET /global/health`, one after the other; the last one again and again. */
const createWorld = (...answers: readonly (unknown | Fault)[]) => {
  const clock = createFakeClock();
  const seen = { asked: 0, made: 0, stopped: 0 };
  const logged: string[] = [];
  const callAgent: CallAgent = async ({ path, schema }) => {
    assert.is(path, '/global/health');
    const answer = answers[Math.min(seen.asked, answers.length - 1)];
    seen.asked += 1;
    if (answer instanceof Fault) throw answer;
    return v.parse(schema, answer);
  };
  const turns = createChosenTurns({
    ...{ callAgent, clock, own: portThat(true, () => {}) },
    createOther() {
      seen.made += 1;
      return portThat(false, () => {
        seen.stopped += 1;
      });
    },
    log: createLog({ level: 'debug', service: 'bridge', clock, write: (line) => void logged.push(line) }),
  });
  const isOwn = (port: Pick<TurnsPort, 'takesClientTools'> = turns) =>
    port.takesClientTools(new AbortController().signal);
  return { clock, seen, logged, turns, isOwn };
};

const OWN = { healthy: true, version: '1', features: ['client-tools', 'turns'] };
const OPENCODE = { healthy: true, version: '1.0.0' };

describe('the choice between turns of our agent server and of another one', (check) => {
  check('asks with the first call, and never again where the server has turns', async () => {
    const { clock, seen, turns, isOwn } = createWorld(OWN);
    assert.is(seen.asked, 0);
    assert.equal(await Promise.all([isOwn(), isOwn()]), [true, true]);
    await clock.advance(86_400_000);
    assert.is(await isOwn(), true);
    turns.stop();
    assert.equal(seen, { asked: 1, made: 0, stopped: 0 });
  });
  for (const [name, answer] of [
    ['names no features', OPENCODE],
    ['has no such route', new Fault({ kind: 'not-found', hint: '' })],
  ] as const)
    check(`takes the other port, once, where the server ${name}`, async () => {
      const { clock, seen, logged, turns, isOwn } = createWorld(answer);
      assert.equal(await Promise.all([isOwn(), isOwn()]), [false, false]);
      await clock.advance(29_999);
      assert.is(await isOwn(), false);
      assert.is(seen.asked, 1);
      await clock.advance(1);
      assert.is(await isOwn(), false);
      turns.stop();
      assert.equal(seen, { asked: 2, made: 1, stopped: 1 });
      assert.is(logged.filter((line) => line.includes('agent-without-turns')).length, 1);
    });
  check('notices a server that has turns by now', async () => {
    const { clock, seen, isOwn } = createWorld(OPENCODE, OWN);
    assert.is(await isOwn(), false);
    await clock.advance(30_000);
    assert.is(await isOwn(), true);
    await clock.advance(30_000);
    assert.is(await isOwn(), true);
    assert.is(seen.asked, 2);
  });
  check('asks again at once after a failure, which the caller gets', async () => {
    const { seen, isOwn } = createWorld(unreachable(), OWN);
    const error = await isOwn().catch((thrown: unknown) => thrown);
    assert.ok(error instanceof Fault && error.detail.kind === 'unavailable');
    assert.is(await isOwn(), true);
    assert.equal(seen, { asked: 2, made: 0, stopped: 0 });
  });
  check('keeps the other port while its server cannot be reached', async () => {
    const { clock, seen, isOwn } = createWorld(OPENCODE, unreachable());
    assert.is(await isOwn(), false);
    await clock.advance(30_000);
    assert.is(await isOwn(), false);
    assert.is(seen.made, 1);
  });
});
