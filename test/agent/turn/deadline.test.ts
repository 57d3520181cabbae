import * as assert from 'uvu/assert';
import { ModelError } from '../../../src/agent/model/types.ts';
import { describe } from '../../check.ts';
import { type Answer, ask, asksOf, callsOf, isQuiet, outputOf, textOf, until } from '../harness/permission-requests.ts';
import { calling, createAgentWorld, failing, hanging, replying, toolNamed, type WorldGiven } from '../harness/world.ts';

const LIMIT_MS = 60_000;
const TOO_LONG = { name: 'UnknownError', data: { message: 'The turn was not done after 60000 ms' } };

const limited = (given: WorldGiven) =>
  createAgentWorld({ ...given, titler: null, changes: { turnTimeoutMs: LIMIT_MS, ...given.changes } });
const dig = toolNamed(
  'dig',
  (_input, { signal }) =>
    new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
);
const DIG = calling({ name: 'dig', input: {} });

describe('a turn that takes too long', (check) => {
  const stuck: readonly (readonly [where: string, given: WorldGiven])[] = [
    ['with a model that never ends', { scripts: [hanging] }],
    ['with a tool that never ends', { scripts: [DIG], tools: [dig] }],
    ['with a question that nobody answers', { scripts: [DIG], tools: [dig], rules: [] }],
    [
      'with a task that never ends',
      {
        scripts: [
          calling({ name: 'task', input: { description: 'd', prompt: 'p', subagent_type: 'helper' } }),
          hanging,
        ],
        agents: [{ name: 'helper', canTakeTasks: true }],
      },
    ],
    [
      'with a backend that fails again and again',
      { scripts: [failing(new ModelError('api', 'busy', { isRetryable: true, retryAfterMs: 50_000 }))] },
    ],
  ];
  for (const [where, given] of stuck) {
    check(`${where} ends with an error that says so, and leaves nothing open`, async () => {
      const world = await limited(given);
      const id = await world.session();
      const answers: Answer[] = [];
      void ask(world, id).then((answer) => answers.push(answer));
      await world.clock.advance(LIMIT_MS - 1);
      assert.is(answers.length, 0);
      await world.clock.advance(1);
      await until(world, () => answers.length === 1);
      assert.equal(answers[0]?.info.error, TOO_LONG);
      assert.equal(await asksOf(world), []);
      for (const part of await callsOf(world, id)) assert.is(outputOf(part), 'The call was aborted');
      assert.ok(await isQuiet(world));
      assert.not.ok(world.logged.some((line) => line.includes('"bug"')));
      assert.is(world.clock.pending(), 1, 'no timer is left but the one for pruning');
    });
  }

  check('has each prompt’s time for itself, from when its turn comes', async () => {
    const slow = (text: string) =>
      async function* () {
        await new Promise<void>((resolve) => world.clock.after(40_000, resolve));
        yield* replying(text)({} as never, new AbortController().signal);
      };
    const world = await limited({ scripts: [slow('one'), slow('two')] });
    const id = await world.session();
    const answers: string[] = [];
    for (const text of ['first', 'second']) void ask(world, id, text).then((answer) => answers.push(textOf(answer)));
    await world.clock.advance(100_000);
    assert.equal(answers, ['one', 'two']);
    assert.is(world.clock.pending(), 1);
  });

  check('is an abort all the same when somebody aborts it', async () => {
    const world = await limited({ scripts: [hanging] });
    const id = await world.session();
    const answer = ask(world, id);
    await until(world, () => world.asked.length === 1);
    await world.post(`/session/${id}/abort`);
    assert.is((await answer).info.error?.name, 'MessageAbortedError');
    assert.is(world.clock.pending(), 1);
  });
});
