import * as assert from 'uvu/assert';
import {
  awayAgents,
  decisions,
  hideEnded,
  isOpen,
  loadApprovals,
  setFollowed,
  shownApprovals,
  takeDecision,
  takeOpen,
  unreadAgents,
  waitingCount,
} from '../../../src/console/page/state/approvals.ts';
import { outcomeSentence } from '../../../src/console/page/views/approvals/outcome.ts';
import type { Approval, ApprovalList, Decision } from '../../../src/console/protocol.ts';
import { describe } from '../../check.ts';

const approval = (id: string, more: Partial<Approval> = {}): Approval => ({
  agent: 0,
  id,
  sessionID: 'ses_1',
  title: 'A conversation',
  tool: 'run_report',
  permission: 'run_report',
  patterns: ['*'],
  arguments: {},
  argumentsHash: 'a',
  asked: 1000,
  always: [],
  ...more,
});
const decision = (id: string, by: string): Decision => {
  const { agent, sessionID, permission, patterns } = approval(id);
  return { agent, id, sessionID, permission, patterns, reply: 'once', by, at: 2000 };
};

type Answer = ApprovalList & { readonly decided: readonly Decision[]; readonly unread?: readonly number[] };

/** The page after it was loaded, with a console that answers the question for approvals. */
const onPage = (body: (world: { readonly answer: (answer: Answer) => void }) => Promise<void> | void) => async () => {
  const before = globalThis.fetch;
  let answered: Answer = { open: [], away: [], standing: [], decided: [] };
  globalThis.fetch = async () => Response.json(answered);
  try {
    await body({
      answer: (next) => {
        answered = next;
      },
    });
  } finally {
    globalThis.fetch = before;
    setFollowed(false);
    shownApprovals.value = undefined;
    decisions.value = [];
    [awayAgents.value, unreadAgents.value] = [[], undefined];
  }
};
const ids = (): readonly string[] => (shownApprovals.value ?? []).map(({ approval: { id } }) => id);
const only = () => {
  const [first] = shownApprovals.value ?? [];
  if (first === undefined) throw new Error('Expected a request');
  return first;
};
const settled = () => new Promise((resolve) => setTimeout(resolve, 5));

describe('the requests on the page', (check) => {
  check(
    'are not ended by an answer that is older than the event stream',
    onPage(async ({ answer }) => {
      setFollowed(true);
      takeOpen({ open: [approval('per_1')], away: [], standing: [] });
      answer({ open: [], away: [], standing: [], decided: [decision('per_0', 'anna')] });
      await loadApprovals();
      assert.ok(isOpen(only()));
      assert.is(decisions.value[0]?.id, 'per_0');
    }),
  );

  check(
    'of a server that is away are neither open for a decision nor ended, and are open again when it is back',
    onPage(() => {
      takeOpen({ open: [approval('per_1')], away: [], standing: [] });
      takeOpen({ open: [], away: [0], standing: [] });
      assert.is(only().missing, 'away');
      assert.is(waitingCount.value, 1);
      takeOpen({ open: [], away: [], standing: [] });
      assert.is(only().missing, 'gone');
      takeOpen({ open: [approval('per_1')], away: [], standing: [] });
      assert.is(only().missing, undefined);
      assert.is(waitingCount.value, 1);
      takeOpen({ open: [approval('per_1', { ends: 5 })], away: [], standing: [] });
      takeOpen({ open: [], away: [0], standing: [] });
      assert.is(only().missing, 'gone');
    }),
  );

  check(
    'are not said to be all where an agent server was not read, nor are the decisions',
    onPage(async ({ answer }) => {
      assert.is(unreadAgents.value, undefined);
      answer({ open: [], away: [1], standing: [], decided: [], unread: [1] });
      await loadApprovals();
      assert.equal([shownApprovals.value, awayAgents.value, unreadAgents.value], [[], [1], [1]]);
      answer({ open: [], away: [], standing: [], decided: [], unread: [] });
      await loadApprovals();
      assert.equal([awayAgents.value, unreadAgents.value], [[], []]);
    }),
  );

  check(
    'that are decided where the page does not hear of it show who decided, as soon as that is known',
    onPage(async ({ answer }) => {
      setFollowed(true);
      takeOpen({ open: [approval('per_1')], away: [], standing: [] });
      answer({ open: [], away: [], standing: [], decided: [decision('per_1', 'bob')] });
      takeOpen({ open: [], away: [], standing: [] });
      assert.is(only().ended, undefined);
      await settled();
      assert.is(only().ended?.by, 'bob');
    }),
  );

  check(
    'ask again who decided, where nobody answered',
    onPage(async ({ answer }) => {
      const later: (() => void)[] = [];
      const before = globalThis.setTimeout;
      const working = globalThis.fetch;
      setFollowed(true);
      takeOpen({ open: [approval('per_1')], away: [], standing: [] });
      globalThis.fetch = () => Promise.reject(new TypeError('no network'));
      globalThis.setTimeout = ((run: () => void) => later.push(run)) as unknown as typeof setTimeout;
      takeOpen({ open: [], away: [], standing: [] });
      await new Promise((resolve) => setImmediate(resolve));
      globalThis.setTimeout = before;
      globalThis.fetch = working;
      answer({ open: [], away: [], standing: [], decided: [decision('per_1', 'bob')] });
      for (const run of later) run();
      await settled();
      assert.is(only().ended?.by, 'bob');
    }),
  );

  check(
    'are never said to have ended without a decision where nobody knows',
    onPage(async () => {
      takeOpen({ open: [approval('per_1')], away: [], standing: [] });
      takeOpen({ open: [], away: [], standing: [] });
      await settled();
      assert.is(only().ended, undefined);
      assert.is(only().missing, 'gone');
      assert.is(waitingCount.value, 0);
    }),
  );

  check(
    'keep their places when an older one comes later',
    onPage(() => {
      takeOpen({ open: [approval('per_2', { asked: 2000 })], away: [], standing: [] });
      takeOpen({
        open: [approval('per_1', { asked: 1000 }), approval('per_2', { asked: 2000 })],
        away: [],
        standing: [],
      });
      assert.equal(ids(), ['per_2', 'per_1']);
    }),
  );

  check(
    'that are over are bounded, and those that wait are not',
    onPage(() => {
      takeOpen({ open: [approval('per_open')], away: [], standing: [] });
      for (let count = 0; count < 100; count++) {
        takeOpen({ open: [approval('per_open'), approval(`per_${count}`)], away: [], standing: [] });
        takeDecision(decision(`per_${count}`, 'anna'));
      }
      takeOpen({ open: [approval('per_open')], away: [], standing: [] });
      assert.is(ids().length, 31);
      assert.is(waitingCount.value, 1);
      assert.ok(ids().includes('per_99'));
      hideEnded();
      assert.equal(ids(), ['per_open']);
    }),
  );
});

describe('a decision', (check) => {
  check('says who made it, or that a client made it which gave no name', () => {
    const { by: _, ...nameless } = decision('per_1', 'bob');
    assert.is(outcomeSentence(decision('per_1', 'bob')), 'Allowed once by bob');
    assert.is(outcomeSentence(nameless), 'Allowed once by a client without a name');
  });
});
