import * as assert from 'uvu/assert';
import type { Turn } from '../../../src/agent/protocol/turns.ts';
import { type JoinCandidate, joinByDigest } from '../../../src/agent/turns/joining.ts';
import { describe } from '../../check.ts';

const NOW = 1_000_000;

const turnOf = (id: string, more: Partial<Turn>): Turn => ({
  ...{ id, owner: 'key-1', conversationID: 'cnv_1', sessionID: 'ses_1', promptID: 'msg_1', from: 0, messageIDs: [] },
  ...{ callIDs: [], digest: 'same', abortAfterMs: 10_000, isStored: true, metadata: {}, readers: [], joins: 0 },
  createdMs: NOW - 5000,
  ...more,
});
/** Its server was killed, and its reader has left. */
const aborted = (tools: readonly string[]): JoinCandidate => ({
  ...{ turn: turnOf('trn_1', { leftMs: NOW - 4000 }), status: 'aborted', endedMs: NOW - 3000 },
  tools,
});
const newer: JoinCandidate = {
  ...{ turn: turnOf('trn_2', { readMs: NOW - 1000 }), status: 'completed', endedMs: NOW - 1000 },
  tools: [],
};
const retry = { digest: 'same', isRetry: true, nowMs: NOW };

describe('a retry without a key', (check) => {
  check('joins the turn that was begun in place of an aborted one', () => {
    assert.equal(joinByDigest([newer, aborted([])], retry), {
      ...{ kind: 'joined', turn: newer.turn },
      isFirstOnly: false,
    });
  });

  check('joins a turn of twelve minutes that has just ended', () => {
    const turn = turnOf('trn_3', { createdMs: NOW - 720_000 });
    const long: JoinCandidate = { ...{ turn, status: 'completed', endedMs: NOW - 1000 }, tools: ['pay'] };
    assert.is(joinByDigest([long], retry).kind, 'joined');
    assert.is(joinByDigest([{ ...long, endedMs: NOW - 601_000 }], retry).kind, 'begun');
  });

  check('is not run again where tools were called, and begins where there is only an aborted turn', () => {
    assert.equal(joinByDigest([newer, aborted(['pay'])], retry), { kind: 'aborted', tools: ['pay'] });
    assert.equal(joinByDigest([aborted([])], retry), { kind: 'begun' });
  });
});
