import fc from 'fast-check';
import * as assert from 'uvu/assert';
import { createIds, ID_PREFIXES, type IdKind, isId } from '../../../src/agent/protocol/ids.ts';
import { describe } from '../../check.ts';

const KINDS = Object.keys(ID_PREFIXES) as IdKind[];
const randomBytes = (count: number): Uint8Array => crypto.getRandomValues(new Uint8Array(count));

describe('ids', (check) => {
  check('are of their kind and of no other', () => {
    const ids = createIds({ now: () => 1_767_225_600_000, after: () => () => {} }, randomBytes);
    for (const kind of KINDS) {
      const id = ids(kind);
      assert.match(id, new RegExp(`^${ID_PREFIXES[kind]}_[0-9a-f]{12}[0-9A-Za-z]{14}$`));
      assert.equal(
        KINDS.filter((other) => isId(other, id)),
        [kind],
      );
    }
    for (const wrong of [
      '',
      'msg_',
      'msg_0123456789ab',
      'msg_0123456789abABCDEFGHIJKLMNO',
      'xmsg_0123456789abABCDEFGHIJKLMN',
    ])
      assert.not.ok(isId('message', wrong));
  });

  check('ascend, those of sessions descend, also when the clock stands still or is set back', () => {
    const times = fc.array(fc.integer({ min: 1_767_000_000_000, max: 1_768_000_000_000 }), {
      minLength: 2,
      maxLength: 20,
    });
    for (const kind of KINDS) {
      fc.assert(
        fc.property(times, (moments) => {
          let now = 0;
          const ids = createIds({ now: () => now, after: () => () => {} }, randomBytes);
          const made = moments.map((moment) => {
            now = moment;
            return ids(kind);
          });
          const sorted = [...made].sort();
          assert.equal(made, kind === 'session' ? sorted.reverse() : sorted);
        }),
      );
    }
  });

  check('come after the one that they are to follow, whatever clock that one is of', () => {
    const hour = 3_600_000;
    const start = 1_767_225_600_000;
    for (const away of [-hour, 0, hour, 24 * hour]) {
      const other = createIds({ now: () => start + away, after: () => () => {} }, randomBytes)('message');
      const ids = createIds({ now: () => start, after: () => () => {} }, randomBytes);
      const next = ids('message', other);
      assert.ok(next > other && isId('message', next), `${away}`);
      assert.ok(ids('message', next) > next);
      // It is a matter of these two, and moves nothing else ahead.
      assert.is(
        Number.parseInt(ids('message').slice(4, 16), 16) >> 12,
        Number.parseInt(ids('part').slice(4, 16), 16) >> 12,
      );
      if (away > 0) assert.ok(ids('message') < other);
    }
    const ids = createIds({ now: () => start, after: () => () => {} }, randomBytes);
    assert.ok(isId('message', ids('message', `msg_${'f'.repeat(12)}${'z'.repeat(14)}`)));
    assert.ok(isId('message', ids('message', 'none of ours')));
  });
});
