import * as assert from 'uvu/assert';
import { answer, calls, text } from '../../../src/demo/model/reply.ts';
import { describe } from '../../check.ts';
import { createModelWorld, TOOLS } from '../harness/model-world.ts';

describe('the tool calls of a model', (check) => {
  check('are reported as soon as they begin, and again with their arguments', async () => {
    const { ask, control } = createModelWorld();
    control.addReply(
      answer([...text('Looking'), ...calls({ name: 'weather', arguments: { city: 'Bern' }, id: 'c1' })]),
    );
    const events = await ask({ tools: TOOLS });
    assert.equal(events.slice(1, 3), [
      { kind: 'call-begun', id: 'c1', name: 'weather' },
      { kind: 'call', id: 'c1', name: 'weather', input: { city: 'Bern' }, raw: '{"city":"Bern"}' },
    ]);
    const last = events.at(-1);
    assert.is(last?.kind === 'finished' && last.finish, 'tool-calls');
  });

  check('are kept apart when they come side by side', async () => {
    const { ask, control } = createModelWorld();
    const [one, two] = [{ city: 'Bern' }, { city: 'Lausanne' }];
    control.addReply(answer(calls({ name: 'weather', arguments: one }, { name: 'weather', arguments: two })));
    const made = (await ask({ tools: TOOLS })).filter((event) => event.kind === 'call');
    assert.equal(
      made.map(({ input }) => input),
      [one, two],
    );
    assert.is(new Set(made.map(({ id }) => id)).size, 2);
  });

  check('have no input when their arguments are no JSON, and no one repairs them', async () => {
    const { ask, control } = createModelWorld();
    control.addReply(answer(calls({ name: 'weather', arguments: '{"city": "Ber', id: 'c1' })));
    const events = await ask({ tools: TOOLS });
    const made = events.find((event) => event.kind === 'call');
    assert.equal(made, { kind: 'call', id: 'c1', name: 'weather', input: undefined, raw: '{"city": "Ber' });
    assert.is(events.at(-1)?.kind, 'finished');
  });

  check('are passed on as they are when the arguments do not fit, or the tool is unknown', async () => {
    const { ask, control } = createModelWorld();
    control.addReply(answer(calls({ name: 'weather', arguments: [7] }, { name: 'no_such_tool', arguments: { a: 1 } })));
    const made = (await ask({ tools: TOOLS })).filter((event) => event.kind === 'call');
    assert.equal(
      made.map(({ name, input }) => [name, input]),
      [
        ['weather', [7]],
        ['no_such_tool', { a: 1 }],
      ],
    );
  });

  check('are passed on even when no tool was offered', async () => {
    const { ask, control } = createModelWorld();
    control.addReply(answer(calls({ name: 'weather', arguments: {} })));
    assert.is((await ask()).filter(({ kind }) => kind === 'call').length, 1);
  });

  for (const nothing of ['', ' \n']) {
    check(`mean an empty object when they say nothing: ${JSON.stringify(nothing)}`, async () => {
      const { ask, control } = createModelWorld();
      control.addReply(answer(calls({ name: 'time', arguments: nothing })));
      const made = (await ask({ tools: TOOLS })).find((event) => event.kind === 'call');
      assert.equal(made?.kind === 'call' && made.input, {});
    });
  }

  check('keep their arguments as the model has written them', async () => {
    const { ask, control } = createModelWorld();
    for (const [raw, input] of [
      ['{ "city" : "Z\\u00fcrich" }', '{"city":"Zürich"}'],
      ['{ "city" : "", "__proto__": {"a": 1} }', '{"city":"","__proto__":{"a":1}}'],
    ] as const) {
      control.addReply(answer(calls({ name: 'weather', arguments: raw })));
      const made = (await ask({ tools: TOOLS })).find((event) => event.kind === 'call');
      assert.ok(made?.kind === 'call');
      assert.equal([made.raw, JSON.stringify(made.input)], [raw, input]);
    }
  });

  check('make the end one of tool calls, also for a backend that says stop', async () => {
    const { ask, control } = createModelWorld();
    control.addReply(answer(calls({ name: 'time', arguments: {} }), { finish: 'stop' }));
    const last = (await ask({ tools: TOOLS })).at(-1);
    assert.is(last?.kind === 'finished' && last.finish, 'tool-calls');
  });
});
