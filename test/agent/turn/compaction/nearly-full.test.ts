import * as assert from 'uvu/assert';
import { ModelError } from '../../../../src/agent/model/types.ts';
import { describe } from '../../../check.ts';
import {
  answersIn,
  ask,
  callsOf,
  isQuiet,
  messagesOf,
  outputOf,
  textOf,
  until,
} from '../../harness/permission-requests.ts';
import {
  calling,
  createAgentWorld,
  failing,
  hanging,
  outcome,
  replying,
  type Script,
  toolNamed,
} from '../../harness/world.ts';
import { promptTexts, SUMMARY, TOO_LONG } from './world.ts';

/** A step that has used so many tokens. */
const using = (total: number, script: Script): Script =>
  async function* (request, signal) {
    for await (const event of script(request, signal)) {
      yield event.kind === 'finished' ? { ...event, tokens: { ...event.tokens, total } } : event;
    }
  };

describe('a context that is nearly full', (check) => {
  const look = toolNamed('look', async () => outcome('seen'));

  check('is summed up between two steps of a turn', async () => {
    const world = await createAgentWorld({
      tools: [look],
      resolvedModel: { usableTokens: 1000 },
      scripts: [using(1000, calling({ name: 'look', input: {} })), using(1500, replying(SUMMARY)), replying('done')],
    });
    const answer = await ask(world, await world.session(), 'look there');
    assert.is(textOf(answer), 'done');
    assert.equal(promptTexts(world.asked[1]?.messages).slice(0, 3), ['look there', '< look>', '[seen]']);
    assert.equal(promptTexts(world.asked[2]?.messages), [`What happened before, in short:\n${SUMMARY}`, 'look there']);
  });

  check('is summed up before the next prompt is answered', async () => {
    const world = await createAgentWorld({
      resolvedModel: { usableTokens: 1000 },
      scripts: [using(1000, replying('one')), replying(SUMMARY), replying('two'), replying('three')],
    });
    const id = await world.session();
    await ask(world, id, 'first');
    assert.is(world.asked.length, 1);
    assert.is(textOf(await ask(world, id, 'second')), 'two');
    assert.equal(promptTexts(world.asked[2]?.messages), [`What happened before, in short:\n${SUMMARY}`, 'second']);
    await ask(world, id, 'third');
    assert.is(world.asked.length, 4);
  });

  check('is summed up once for a step, and not again when that was not enough', async () => {
    const world = await createAgentWorld({
      resolvedModel: { usableTokens: 1000 },
      scripts: [using(1000, replying('one')), replying(SUMMARY), TOO_LONG],
    });
    const id = await world.session();
    await ask(world, id, 'first');
    assert.is((await ask(world, id, 'second')).info.error?.name, 'ContextOverflowError');
    assert.is(world.asked.length, 3);
  });

  check('is not summed up again when the answer after the summary failed', async () => {
    const world = await createAgentWorld({
      resolvedModel: { usableTokens: 1000 },
      scripts: [
        using(1000, replying('one')),
        using(5000, replying(SUMMARY)),
        failing(new ModelError('auth', 'Refused')),
        replying('three'),
      ],
    });
    const id = await world.session();
    for (const text of ['first', 'second', 'third']) await ask(world, id, text);
    assert.is(world.asked.length, 4);
    assert.equal(promptTexts(world.asked[3]?.messages), [`What happened before, in short:\n${SUMMARY}`, 'third']);
  });

  check('that overflows after a summary that failed is summed up after all', async () => {
    const world = await createAgentWorld({
      resolvedModel: { usableTokens: 1000 },
      scripts: [
        using(1000, replying('one')),
        failing(new ModelError('auth', 'Refused')),
        TOO_LONG,
        replying(SUMMARY),
        replying('two'),
        replying('three'),
      ],
    });
    const id = await world.session();
    for (const text of ['first', 'second', 'third']) await ask(world, id, text);
    assert.equal(promptTexts(world.asked.at(-1)?.messages), [
      `What happened before, in short:\n${SUMMARY}`,
      '<two>',
      'third',
    ]);
  });

  check('is left alone below the limit, and where none is known', async () => {
    for (const usableTokens of [1000, undefined]) {
      const script = using(usableTokens === undefined ? 1_000_000 : 999, calling({ name: 'look', input: {} }));
      const world = await createAgentWorld({
        tools: [look],
        resolvedModel: { usableTokens },
        scripts: [script, replying('done')],
      });
      await ask(world, await world.session());
      assert.is(world.asked.length, 2);
    }
  });

  check('is used as it is when no summary can be had: the calls that were made stay made', async () => {
    const world = await createAgentWorld({
      tools: [look],
      resolvedModel: { usableTokens: 1000 },
      scripts: [
        using(1000, calling({ name: 'look', input: {} })),
        failing(new ModelError('auth', 'Refused')),
        replying('done'),
      ],
    });
    const id = await world.session();
    assert.is(textOf(await ask(world, id)), 'done');
    assert.is(outputOf((await callsOf(world, id))[0]), 'seen');
  });

  check('is summed up in vain once in a turn, and tried again in the next one', async () => {
    const script: Script = async function* (request, signal) {
      const last = promptTexts(request.messages).at(-1) ?? '';
      const results = request.messages.filter(({ role }) => role === 'tool').length;
      if (last.startsWith('Summarise')) yield* replying(' ')(request, signal);
      else if (results < 5) yield* using(1000, calling({ name: 'look', input: { results } }))(request, signal);
      else yield* using(1000, replying('done'))(request, signal);
    };
    const world = await createAgentWorld({ tools: [look], resolvedModel: { usableTokens: 1000 }, scripts: [script] });
    const id = await world.session();
    const summaries = () =>
      world.asked.filter(({ messages }) => promptTexts(messages).at(-1)?.startsWith('Summarise')).length;
    assert.is(textOf(await ask(world, id)), 'done');
    assert.equal([summaries(), world.asked.length], [1, 7]);
    await ask(world, id, 'again');
    assert.equal([summaries(), world.asked.length], [2, 9]);
  });

  check('leaves no message open when its summary fails and the store with it', async () => {
    const { store } = await createAgentWorld();
    let failures = 0;
    const world = await createAgentWorld({
      store: {
        ...store,
        async commit(changes, events) {
          const isEnd = changes.some(
            (change) => change.kind === 'message' && JSON.stringify(change).includes('"error"'),
          );
          if (isEnd && failures === 0) {
            failures += 1;
            throw new Error('The disk is full');
          }
          return store.commit(changes, events);
        },
      },
      tools: [look],
      resolvedModel: { usableTokens: 1000 },
      scripts: [
        using(1000, calling({ name: 'look', input: {} })),
        failing(new ModelError('auth', 'Refused')),
        replying('done'),
      ],
    });
    assert.is(textOf(await ask(world, await world.session())), 'done');
    assert.is(failures, 1);
    assert.ok(await isQuiet(world));
  });

  check('may be aborted while it is summed up: the calls that were made stay made', async () => {
    const world = await createAgentWorld({
      tools: [look],
      resolvedModel: { usableTokens: 1000 },
      scripts: [using(1000, calling({ name: 'look', input: {} })), hanging],
    });
    const id = await world.session();
    const answer = ask(world, id);
    await until(world, () => world.asked.length === 2);
    await world.post(`/session/${id}/abort`);
    assert.is((await answer).info.error?.name, 'MessageAbortedError');
    assert.is(outputOf((await callsOf(world, id))[0]), 'seen');
    const [first] = answersIn(await messagesOf(world, id));
    assert.is(first?.info.finish, 'tool-calls');
    assert.is(first?.info.tokens.total, 1000);
    assert.ok(await isQuiet(world));
  });
});
