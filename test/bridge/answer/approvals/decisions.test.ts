import * as assert from 'uvu/assert';
import { readDecision } from '../../../../src/bridge/answer/approvals/decisions.ts';
import type { ApprovalRequest } from '../../../../src/bridge/output.ts';
import { describe } from '../../../check.ts';

const asked = (id: string, more: Partial<ApprovalRequest> = {}): ApprovalRequest => ({
  ...{ id, sessionID: 'ses_1', tool: 'pay', input: '{}', notes: [] },
  ...more,
});
const WHOLE = asked('per_0001k3F9xQ');
const CUT = asked('per_0002aB12cD', { isCut: true });
const UNSEEN = asked('per_0003zZ98yX');

/** Which requests a text allows, refuses and leaves out, or why it decides nothing. */
const decided = (text: string, open: readonly ApprovalRequest[], shown = [WHOLE, CUT]) => {
  const decision = readDecision({ decisions: undefined, text }, { open, shown });
  if (decision?.kind !== 'decided') return decision?.problem.kind;
  const idsWith = (reply: string) =>
    decision.verdicts.filter((verdict) => verdict.reply.reply === reply).map(({ request }) => request.id);
  return { once: idsWith('once'), reject: idsWith('reject'), withheld: decision.withheld.map(({ id }) => id) };
};

describe('"approve all"', (check) => {
  check('a request whose input was shown cut: it stays open, and its whole id allows it', () => {
    assert.equal(decided('approve all', [WHOLE, CUT]), { once: [WHOLE.id], reject: [], withheld: [CUT.id] });
    assert.is(decided('approve all', [CUT]), 'cut-input');
    assert.is(decided('approve aB12cD', [CUT]), 'cut-input');
    assert.equal(decided(`approve ${CUT.id}`, [CUT]), { once: [CUT.id], reject: [], withheld: [] });
  });

  check('a request that the last answer did not show: it is not decided', () => {
    assert.equal(decided('approve all', [WHOLE, UNSEEN]), { once: [WHOLE.id], reject: [], withheld: [] });
    assert.is(decided('approve all', [UNSEEN]), 'not-shown');
  });

  check('"reject all": a cut input is refused too', () =>
    assert.equal(decided('reject all', [WHOLE, CUT]), { once: [], reject: [WHOLE.id, CUT.id], withheld: [] }),
  );
});
