import fc from 'fast-check';
import * as assert from 'uvu/assert';
import { isId, nextEventID } from '../../../src/agent/protocol/ids.ts';

import { describe } from '../../check.ts';

const CHARS = [...'0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'];
const OLD = `evt_000000000000${'0'.repeat(14)}`;
const after = (last: string): string => nextEventID(() => OLD, last);

describe('the id of the next event', (check) => {
  check('is a fresh one when that sorts after the last', () => {
    assert.is(
      nextEventID(() => OLD, ''),
      OLD,
    );
    assert.is(
      nextEventID(() => `evt_000000000001${'0'.repeat(14)}`, OLD),
      `evt_000000000001${'0'.repeat(14)}`,
    );
  });

  check('is otherwise the one after the last, also when the time in ids starts again from zero', () => {
    assert.is(after(OLD), `evt_000000000000${'0'.repeat(13)}1`);
    assert.is(after('evt_ffffffffffff0000000000Zz9Z'), 'evt_ffffffffffff0000000000Zz9a');
    assert.is(after('evt_ffffffffffff0000000000Zz9z'), 'evt_ffffffffffff0000000000ZzA0');
    assert.is(after('evt_ffffffffffff0000000009zzzz'), 'evt_ffffffffffff000000000A0000');
  });

  check('sorts after the last and is an id, whatever the last was', () => {
    const tail = fc.array(fc.constantFrom(...CHARS, 'z', 'z', 'Z', '9'), { minLength: 13, maxLength: 13 });
    fc.assert(
      fc.property(tail, (chars) => {
        const last = `evt_0123456789ab0${chars.join('')}`;
        const next = after(last);
        assert.ok(next > last);
        assert.ok(isId('event', next));
      }),
    );
  });
});
