import * as assert from 'uvu/assert';
import { answer, calls, reasoning, text } from '../../../src/demo/model/reply.ts';
import { describe } from '../../check.ts';
import { createModelWorld, TOOLS, textIn } from '../harness/model-world.ts';

const NO_TOKENS = { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 }, total: 0 };

describe('what a model says', (check) => {
  check('arrives piece by piece, and ends with one finish', async () => {
    const { ask, control } = createModelWorld();
    control.addReply(answer(text('Good ', 'morning'), { usage: { prompt: 9, completion: 2 } }));
    assert.equal(await ask(), [
      { kind: 'text', delta: 'Good ' },
      { kind: 'text', delta: 'morning' },
      {
        kind: 'finished',
        finish: 'stop',
        tokens: { input: 9, output: 2, reasoning: 0, cache: { read: 0, write: 0 }, total: 11 },
      },
    ]);
  });

  check('keeps its reasoning apart from its text, and reports it in order', async () => {
    const { ask, control } = createModelWorld();
    control.addReply(answer([...reasoning('Let me ', 'see'), ...text('Yes')]));
    const events = await ask();
    assert.equal(
      events.map(({ kind }) => kind),
      ['reasoning', 'reasoning', 'text', 'finished'],
    );
    assert.is(textIn(events, 'reasoning'), 'Let me see');
  });

  check('keeps its think tags in the text', async () => {
    const { ask, control } = createModelWorld();
    control.addReply(answer(text('<think>se', 'cret</think>', 'Yes')));
    assert.is(textIn(await ask(), 'text'), '<think>secret</think>Yes');
  });

  check('counts tokens as the wire does: without the cache, without the reasoning', async () => {
    const { ask, control } = createModelWorld();
    control.addReply(answer(text('x'), { usage: { prompt: 100, cached: 30, completion: 20, reasoning: 5 } }));
    const tokens = { input: 70, output: 15, reasoning: 5, cache: { read: 30, write: 0 }, total: 120 };
    assert.equal((await ask()).at(-1), { kind: 'finished', finish: 'stop', tokens });
  });

  check('may come without any count of tokens', async () => {
    const { ask, control } = createModelWorld();
    control.addReply(answer(text('x'), { usage: null }));
    assert.equal((await ask()).at(-1), { kind: 'finished', finish: 'stop', tokens: NO_TOKENS });
  });

  check('may be nothing at all', async () => {
    const { ask, control } = createModelWorld();
    control.addReply(answer([], { usage: null }));
    assert.equal(await ask(), [{ kind: 'finished', finish: 'stop', tokens: NO_TOKENS }]);
  });

  check('may be a million characters long', async () => {
    const { ask, control } = createModelWorld();
    const long = 'wörd '.repeat(200_000);
    control.addReply(answer(text(...(long.match(/[\s\S]{1,9000}/g) ?? []))));
    assert.is(textIn(await ask(), 'text'), long);
  });

  for (const [finish, reported] of [
    ['length', 'length'],
    ['content_filter', 'content-filter'],
  ] as const) {
    check(`says when it ended by ${reported}`, async () => {
      const { ask, control } = createModelWorld();
      control.addReply(answer(text('half'), { finish, usage: null }));
      assert.equal((await ask()).at(-1), { kind: 'finished', finish: reported, tokens: NO_TOKENS });
    });
  }

  check('comes in one piece from a backend that cannot stream', async () => {
    const { ask, control } = createModelWorld();
    const pieces = [
      ...reasoning('hm'),
      ...text('Here'),
      ...calls({ name: 'time', arguments: {}, id: 'c1' }, { name: 'time', arguments: '', id: 'c2' }),
    ];
    control.addReply(answer(pieces, { isWhole: true, usage: { prompt: 3, completion: 4 } }));
    assert.equal(await ask({ tools: TOOLS }), [
      { kind: 'reasoning', delta: 'hm' },
      { kind: 'text', delta: 'Here' },
      { kind: 'call-begun', id: 'c1', name: 'time' },
      { kind: 'call-begun', id: 'c2', name: 'time' },
      { kind: 'call', id: 'c1', name: 'time', input: {}, raw: '{}' },
      { kind: 'call', id: 'c2', name: 'time', input: {}, raw: '{}' },
      {
        kind: 'finished',
        finish: 'tool-calls',
        tokens: { input: 3, output: 4, reasoning: 0, cache: { read: 0, write: 0 }, total: 7 },
      },
    ]);
  });

  check('is read past comments and events that are no part of it', async () => {
    const { ask, control } = createModelWorld();
    const aside = { kind: 'raw', text: ': keep-alive\n\ndata: {"object":"ping"}\n\n' } as const;
    control.addReply(answer([...text('a'), aside, ...text('b'), { kind: 'raw', text: 'id: 7\nretry: 10\n\n' }]));
    assert.is(textIn(await ask(), 'text'), 'ab');
  });

  check('is whole once it has said why it stopped, with or without a last word of the protocol', async () => {
    const { ask, control } = createModelWorld();
    const last = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };
    control.addReply(
      answer([...text('all'), { kind: 'raw', text: `data: ${JSON.stringify(last)}\n\n` }, { kind: 'close' }]),
    );
    assert.equal((await ask()).at(-1), { kind: 'finished', finish: 'stop', tokens: NO_TOKENS });
  });
});
