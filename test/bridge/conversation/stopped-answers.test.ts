import * as assert from 'uvu/assert';
import { createStoppedAnswers } from '../../../src/bridge/conversation/lookup.ts';
import { describe } from '../../check.ts';

describe('answers that clients did not stay for', (check) => {
  check('are kept as far as a client may have them, the latest two hundred of them', () => {
    const stopped = createStoppedAnswers();
    const answer = (number: number) => ({ sessionID: `ses_${number}`, stoppedAt: 'hash' });
    stopped.set(answer(0), 'One two');
    assert.is(stopped.get(answer(0)), 'One two');
    assert.is(stopped.get({ ...answer(0), stoppedAt: 'later' }), undefined);
    stopped.set(answer(1), 'x'.repeat(100_000));
    assert.is(stopped.get(answer(1))?.length, 65_536);
    for (let number = 2; number <= 200; number += 1) stopped.set(answer(number), '');
    assert.is(stopped.get(answer(0)), undefined);
    assert.is(stopped.get(answer(2)), '');
  });
});
