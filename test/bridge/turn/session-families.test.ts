import * as assert from 'uvu/assert';
import { createSessionFamilies } from '../../../src/bridge/turn/approvals/permission-requests.ts';
import { describe } from '../../check.ts';
import { NEVER } from '../harness/log-readers.ts';
import { born } from '../harness/turn-events.ts';
import { createTestFeed, createTurnWorld } from '../harness/turn-world.ts';

const familiesOf = () => {
  const { agent, calls, parents } = createTurnWorld();
  const { feed, report, listening } = createTestFeed();
  const families = createSessionFamilies(agent, feed);
  return { ...families, calls, parents, report, listening, rootOf: (id: string) => families.findRoot(id, NEVER) };
};

describe('the families of sessions', (check) => {
  check('know the parent of a session from events, and request what they have not received', async () => {
    const { rootOf, report, parents, calls } = familiesOf();
    report(born('ses_a'), born('ses_b', 'ses_a'));
    assert.is(await rootOf('ses_b'), 'ses_a');
    assert.equal(calls, []);
    parents.set('ses_d', 'ses_c');
    assert.equal([await rootOf('ses_d'), await rootOf('ses_d'), await rootOf('ses_c')], ['ses_c', 'ses_c', 'ses_c']);
    assert.equal(calls, ['session ses_d', 'session ses_c']);
  });

  check('end where sessions are said to be each other', async () => {
    const { rootOf, report } = familiesOf();
    report(born('ses_a', 'ses_b'), born('ses_b', 'ses_a'));
    assert.match(await rootOf('ses_a'), /^ses_[ab]$/);
  });

  check('forget the oldest of very many', async () => {
    const { rootOf, report, calls } = familiesOf();
    report(born('ses_first'));
    for (let count = 0; count < 10_000; count++) report(born(`ses_${count}`));
    await rootOf('ses_0');
    assert.equal(calls, []);
    await rootOf('ses_first');
    assert.equal(calls, ['session ses_first']);
  });

  check('listen until they are stopped', () => {
    const { stop, listening } = familiesOf();
    assert.is(listening(), 1);
    stop();
    assert.is(listening(), 0);
  });
});
