import * as assert from 'uvu/assert';
import { RelayError } from '../../../../src/relay-admin/errors/errors.ts';
import { statisticsReader } from '../../../../src/relay-admin/read/fields.ts';
import { fields, listReader, pageReader, recordReader } from '../../../../src/relay-admin/read/project.ts';
import { describe } from '../../../check.ts';

const isOtherShape = (error: unknown): boolean =>
  error instanceof RelayError && error.detail.kind === 'upstream-contract';

describe('an answer of another shape', (check) => {
  const page1 = pageReader(fields('id'));
  check('is distinguished from a page', () => {
    const others = [
      null,
      undefined,
      [],
      'x',
      { items: {} },
      { items: [1] },
      { items: [null] },
      { items: [[]] },
      { list: [] },
    ];
    for (const data of others) assert.throws(() => page1(data), isOtherShape);
  });
  check('is distinguished from a list', () => {
    for (const data of [{}, 'x', 1, ['x'], [null]]) assert.throws(() => listReader(fields('id'))(data), isOtherShape);
  });
  check('is distinguished from one thing, also when it is a thing of another kind', () => {
    for (const data of [null, undefined, [], 'x', {}, { other: 1 }])
      assert.throws(() => recordReader(fields('id'))(data), isOtherShape);
  });
  check('is not what the relay calls an empty list', () => {
    assert.equal(listReader(fields('id'))(null), []);
    assert.equal(page1({ items: null, total: 0 }), { items: [], total: 0 });
  });
});

describe('figures', (check) => {
  check('keep numbers and switches under any name, and texts only where they name or date something', () => {
    const shown = statisticsReader()({
      total_tokens: 5,
      stale: false,
      uptime: null,
      anything: 'a text',
      user_email: 'x@example.test',
      error_message: 'x',
      start_date: '2026-01-31',
      updated: '2026-01-31T00:00:00.123Z',
      user_id: '77',
      otp: '123456',
      models: [{ model: 'claude-x', cost: 1.5, note: 'x' }],
      platforms: { openai: { active: 1, reason: 'x' } },
    });
    assert.equal(shown, {
      total_tokens: 5,
      stale: false,
      uptime: null,
      start_date: '2026-01-31',
      updated: '2026-01-31T00:00:00.123Z',
      user_id: '77',
      models: [{ model: 'claude-x', cost: 1.5 }],
      platforms: { openai: { active: 1 } },
    });
  });
  check('keep a list of names', () => {
    assert.equal(statisticsReader('models')(['a', 'b']), ['a', 'b']);
    assert.equal(statisticsReader()(['a', 'b']), []);
  });
  check('end where they go too deep', () => {
    let data: unknown = { cost: 1 };
    for (let depth = 0; depth < 10_000; depth++) data = { inner: data };
    const text = JSON.stringify(statisticsReader()(data));
    assert.match(text, /too deep/);
    assert.ok(text.length < 1000);
  });
});
