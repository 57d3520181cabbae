import * as assert from 'uvu/assert';
import { shownApprovals, takeDecision, takeOpen } from '../../../src/console/page/state/approvals.ts';
import type { Approval, Decision } from '../../../src/console/protocol.ts';
import { describe } from '../../check.ts';

const request = (id: string, more: Partial<Approval> = {}): Approval => ({
  ...{ agent: 0, id, sessionID: 'ses_1', title: '', tool: 'pay', permission: 'pay', patterns: ['*'] },
  ...{ arguments: {}, argumentsHash: 'a', always: [], asked: 1, ends: Date.now() + 300_000 },
  ...more,
});
const endOf = (id: string): Decision['reply'] | undefined =>
  shownApprovals.value?.find(({ approval }) => approval.id === id)?.ended?.reply;

describe('the open requests of the page', (check) => {
  check('have not ended because their agent server does not answer', () => {
    takeOpen({ open: [request('one'), request('two', { agent: 1 })], away: [] });
    takeOpen({ open: [], away: [0] });
    assert.equal([endOf('one'), endOf('two')], [undefined, 'cancelled']);
    takeOpen({ open: [request('late', { ends: 5 })], away: [] });
    takeOpen({ open: [], away: [0] });
    assert.is(endOf('late'), 'expired');
  });

  check('are open again when they were taken for ended and wait after all, but not after a decision', () => {
    takeOpen({ open: [request('three'), request('four')], away: [] });
    takeOpen({ open: [], away: [] });
    takeDecision({ ...request('four'), reply: 'reject', by: 'ann', at: Date.now() });
    assert.equal([endOf('three'), endOf('four')], ['cancelled', 'reject']);
    takeOpen({ open: [request('three'), request('four')], away: [] });
    assert.equal([endOf('three'), endOf('four')], [undefined, 'reject']);
  });
});
