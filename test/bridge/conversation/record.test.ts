import * as assert from 'uvu/assert';
import {
  readConversation,
  type StoredConversation,
  toSessionMetadata,
} from '../../../src/bridge/conversation/record.ts';
import type { PausedTurn } from '../../../src/bridge/conversation/types.ts';
import { describe } from '../../check.ts';

const EXCHANGES = 20;
/** The most calls of one step whose ids are stored, with the longest ids that models give. */
const CALLS = 50;
const idsOf = (prefix: string, turn: number, chars: number): readonly string[] =>
  Array.from({ length: CALLS }, (_, call) => `${prefix}_${turn}_${call}_`.padEnd(chars, 'x'));

const askedIn = (turn: number): PausedTurn => ({
  promptID: `msg_${turn}`.padEnd(30, 'x'),
  approvalIDs: idsOf('per', turn, 30),
  callIDs: idsOf('call', turn, 200),
  waiting: idsOf('prt', turn, 30),
  items: 120,
  afterMessageID: `msg_after_${turn}`.padEnd(30, 'x'),
  usage: { prompt: 123_456, cached: 120_000, cacheWritten: 3000, completion: 4567, reasoning: 1234 },
});

const conversation: StoredConversation = {
  ...{ sessionID: 'ses_1', owner: 'x'.repeat(64), name: 'x'.repeat(128), isNamed: true, revision: 1 },
  fingerprint: { head: 'h'.repeat(64), entries: 40, opening: 'o'.repeat(64) },
  ...{ tail: [], stoppedAt: undefined, hasReplay: false, claim: undefined, otherMetadata: {} },
  exchanges: Array.from({ length: EXCHANGES }, (_, turn) => ({
    ...{ token: `token${turn}`.padEnd(12, 'x'), promptID: askedIn(turn).promptID },
    asked: askedIn(turn),
  })),
  paused: askedIn(EXCHANGES),
  ...{ createdAt: 1, usedAt: 1, isUpToDate: false },
};

describe('the record of a conversation', (check) => {
  check('fits what an agent server takes, however many approvals its answers asked for', () => {
    const metadata = toSessionMetadata(conversation);
    assert.ok(JSON.stringify(metadata).length <= 64 * 1024);
    const read = readConversation({ id: 'ses_1', time: { created: 1, updated: 1 }, metadata });
    const asked = read?.exchanges.map((exchange) => exchange.asked) ?? [];
    assert.equal(asked.slice(-2), [askedIn(EXCHANGES - 2), askedIn(EXCHANGES - 1)]);
    // Of earlier ones it is known that and where they ended.
    const { promptID, items, usage, afterMessageID } = askedIn(0);
    assert.equal(asked[0], { promptID, items, usage, afterMessageID, approvalIDs: [], callIDs: [], waiting: [] });
    assert.equal(read?.paused, conversation.paused);
  });
});
