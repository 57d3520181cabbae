import * as assert from 'uvu/assert';
import { createStoppedAnswers } from '../../../src/bridge/conversation/lookup.ts';
import { describe } from '../../check.ts';

describe('answers that clients did not stay for', (check) => {
  check('are kept as far as a client may have them, the latest two hundred of them', () => {
    const stopped = createStoppedAnswers();
    stopped.set('ses_0', 'One two');
    assert.is(stopped.get('ses_0'), 'One two');
    stopped.set('ses_1', 'x'.repeat(100_000));
    assert.is(stopped.get('ses_1')?.length, 65_536);
    for (let number = 2; number <= 200; number += 1) stopped.set(`ses_${number}`, '');
    assert.is(stopped.get('ses_0'), undefined);
    assert.is(stopped.get('ses_2'), '');
    stopped.set('ses_2', undefined);
    assert.is(stopped.get('ses_2'), undefined);
  });
});
