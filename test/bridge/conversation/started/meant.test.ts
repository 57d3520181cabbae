import * as assert from 'uvu/assert';
import { createConversationIndex } from '../../../../src/bridge/conversation/lookup.ts';
import { createLocalTimes } from '../../../../src/bridge/conversation/started/local-times.ts';
import type { MarkedConversation } from '../../../../src/bridge/conversation/started/marks.ts';
import { createMeantMarks } from '../../../../src/bridge/conversation/started/meant.ts';
import { createBridgeID } from '../../../../src/bridge/conversation/started/readers.ts';
import type { MarkedRequest } from '../../../../src/bridge/conversation/types.ts';
import { describe } from '../../../check.ts';
import { createFakeClock } from '../../../fake-clock.ts';
import { asking } from '../world.ts';
import { answered, marked, OWNER, TOKEN } from './marked.ts';

const HOUR_MS = 3_600_000;
const GRACE_MS = 3000;
/** Longer than a failure is repeated, or an aborted turn is looked for after its grace period. */
const REPEATED_MS = 5000;

const clock = createFakeClock();
const now = clock.now();
const bridgeID = createBridgeID(now, 'here');
const earlierBridge = createBridgeID(now - 1000, 'before');
const laterBridge = createBridgeID(now + 1000, 'beside');

type Given = {
  /** Marks that this bridge has seen, the oldest first. */
  readonly seen?: readonly MarkedConversation[];
  /** What is only in its index. */
  readonly indexed?: MarkedConversation;
  readonly agoMs?: number;
  /** Whether the marks are older than this process. */
  readonly isListed?: boolean;
  readonly own?: readonly string[];
  readonly given?: readonly string[];
};

const bridge = ({ seen = [], indexed, agoMs = 0, isListed = false, own = [], given = [] }: Given) => {
  const index = createConversationIndex(clock, () => 'chat_new', { limit: 10, lifetimeMs: HOUR_MS });
  if (indexed !== undefined) index.put({ ...indexed, usedAt: now - agoMs });
  const storedAtMs = isListed ? undefined : now - agoMs;
  const marks = {
    of: () => seen.map((conversation) => ({ conversation, storedAtMs, usedAtMs: now - agoMs })),
    times: createLocalTimes(clock, () => false),
    catchUp: async () => {},
    ofToken: () => undefined,
    ofName: () => undefined,
    untilSeen: async () => {},
  };
  return createMeantMarks({ index, marks, clock, ownTokens: new Set(own), given: new Set(given), bridgeID });
};

const request = (given: Partial<MarkedRequest> = {}, keyDigest?: string): MarkedRequest => ({
  request: asking(),
  owner: OWNER,
  mark: { digest: 'digest', keyDigest, token: 'token00000099', createdSeconds: 0 },
  isRetry: false,
  isKnown: false,
  isSoon: false,
  times: { joinedMs: GRACE_MS, abortedAfterMs: GRACE_MS },
  isOwn: () => false,
  ...given,
});
const retry = request({ isRetry: true });

const meantBy = (sent: MarkedRequest, given: Given, gone: readonly string[] = []) =>
  bridge(given).find(sent, new Set(gone))?.isMeant;

describe('a request with a key', (check) => {
  const seen = [marked({ keyDigest: 'key' }, answered())];

  check('means the turn of the same key for an hour, answered or not', () => {
    assert.is(meantBy(request({}, 'key'), { seen, agoMs: HOUR_MS }), true);
    assert.is(meantBy(request({}, 'key'), { seen, agoMs: HOUR_MS + 1 }), undefined);
  });

  check('means no turn with another key or none, and one without a key means no turn with one', () => {
    assert.is(meantBy(request({}, 'other'), { seen }), undefined);
    assert.is(meantBy(request({ isRetry: true }, 'key'), { seen: [marked()] }), undefined);
    assert.is(meantBy(retry, { seen }), undefined);
  });

  check('is not found by its mark where this bridge answers it', () =>
    assert.is(meantBy(request({}, 'key'), { seen, own: [TOKEN] }), undefined),
  );
});

describe('a retry without a key', (check) => {
  check('means the turn of an equal request that was not answered, also while a client reads it', () => {
    assert.is(meantBy(retry, { seen: [marked({ readers: [laterBridge] })], agoMs: HOUR_MS }), true);
    assert.is(meantBy(retry, { seen: [marked({ digest: 'other' })] }), undefined);
  });

  check('means an answered turn for ten seconds, and for longer if no client has read its answer', () => {
    const seen = [marked({}, answered())];
    assert.is(meantBy(retry, { seen, agoMs: 9999 }), true);
    assert.is(meantBy(retry, { seen, agoMs: 10_000 }), undefined);
    assert.is(meantBy(retry, { seen: [marked({ isUnread: true }, answered())], agoMs: HOUR_MS }), true);
  });

  check('means a turn that was stopped, although something of its answer was recorded', () => {
    const stopped = marked({}, { ...answered(), stoppedAt: 'head' });
    assert.is(meantBy(retry, { seen: [stopped], agoMs: 10_000 }), true);
  });

  check('means no turn that another request reads by now', () =>
    assert.is(meantBy(retry, { seen: [marked()], given: [TOKEN] }), undefined),
  );

  check('means a turn of which only the index knows, which an equal request that is no retry does not', () => {
    assert.is(meantBy(retry, { indexed: marked() }), true);
    assert.is(meantBy(request(), { indexed: marked({ failedAtMs: now }) }), undefined);
  });
});

describe('an equal request that is neither a retry nor has a key', (check) => {
  const left = (agoMs: number, isUnread?: boolean) =>
    marked({ readers: [], left: { by: laterBridge, atMs: now - agoMs }, isUnread });

  check('is a new one while a client reads the earlier, or if none has left it', () => {
    assert.is(meantBy(request(), { seen: [marked({ readers: [laterBridge] })] }), undefined);
    assert.is(meantBy(request(), { seen: [marked({ readers: [] })] }), undefined);
  });

  check('means the turn that its client has left within the grace period', () => {
    assert.is(meantBy(request(), { seen: [left(GRACE_MS - 1)] }), true);
    assert.is(meantBy(request({ isOwn: () => true }), { seen: [left(GRACE_MS - 1)] }), undefined);
  });

  check('means after the grace period only a turn that was cut off, and soon none at all', () => {
    assert.is(meantBy(request(), { seen: [left(GRACE_MS)] }), 'cut-off');
    assert.is(meantBy(request(), { seen: [left(GRACE_MS + REPEATED_MS - 1)] }), 'cut-off');
    assert.is(meantBy(request(), { seen: [left(GRACE_MS + REPEATED_MS)] }), undefined);
  });

  check('is a new one if the answer was recorded, but for one that no client has read', () => {
    assert.is(meantBy(request(), { seen: [{ ...left(0), ...answered() }] }), undefined);
    assert.is(meantBy(request(), { seen: [{ ...left(0, true), ...answered() }] }), true);
  });

  check('means a turn that failed in the last five seconds', () => {
    const failed = (agoMs: number) => [marked({ failedAtMs: now - agoMs }, answered())];
    assert.is(meantBy(request(), { seen: failed(REPEATED_MS - 1) }), true);
    assert.is(meantBy(request(), { seen: failed(REPEATED_MS) }), undefined);
  });

  check('means soon after a start the turn of a bridge that may have been killed, and of no other', () => {
    const soon = request({ isSoon: true });
    const atEarlier = [marked({ readers: [earlierBridge] })];
    assert.is(meantBy(soon, { seen: atEarlier, isListed: true }), true);
    assert.is(meantBy(request(), { seen: atEarlier, isListed: true }), undefined);
    assert.is(meantBy(soon, { seen: atEarlier }), undefined);
    assert.is(meantBy(soon, { seen: [marked({ readers: [earlierBridge, laterBridge] })], isListed: true }), undefined);
    assert.is(meantBy(soon, { seen: [{ ...marked(), ...answered() }], isListed: true }), undefined);
  });

  check('means soon after a start the complete answer that was read at a bridge that may have been killed', () => {
    const read = (isUnread: boolean) => [marked({ readers: [earlierBridge], isUnread }, answered())];
    assert.is(meantBy(request({ isSoon: true }), { seen: read(true), isListed: true }), true);
    assert.is(meantBy(request({ isSoon: true }), { seen: read(false), isListed: true }), undefined);
    const nobody = [marked({ readers: [], isUnread: true }, answered())];
    assert.is(meantBy(request({ isSoon: true }), { seen: nobody, isListed: true }), undefined);
  });

  check('is a new one if a client has all of the answer, although no bridge has recorded it', () => {
    const unrecorded = [marked({ readers: [earlierBridge], isUnread: false })];
    assert.is(meantBy(request({ isSoon: true }), { seen: unrecorded, isListed: true }), undefined);
    assert.is(meantBy(request(), { seen: [left(0, false)] }), undefined);
  });

  check('means the turn that was left lately beside a later one that counts only where it was cut off', () => {
    const old = { ...left(GRACE_MS), sessionID: 'ses_2' };
    assert.is(bridge({ seen: [left(1), old] }).find(request(), new Set())?.conversation.sessionID, 'ses_1');
  });
});

describe('of several equal requests', (check) => {
  const one = marked({ left: { by: laterBridge, atMs: now } });
  const other = marked({ token: 'token00000002', readers: [laterBridge] }, { sessionID: 'ses_2' });
  const find = (seen: readonly MarkedConversation[], gone: readonly string[] = []) =>
    bridge({ seen }).find(retry, new Set(gone))?.conversation.sessionID;

  check('a retry means the one that its client has left, else the latest', () => {
    assert.is(find([one, other]), 'ses_1');
    assert.is(find([marked(), other]), 'ses_2');
  });

  check('sessions that are left out do not count', () => {
    assert.is(find([one, other], ['ses_1']), 'ses_2');
    assert.is(find([one, other], ['ses_1', 'ses_2']), undefined);
  });
});

describe('whether the client of an equal request may disconnect soon', (check) => {
  const answering = marked({}, { claim: TOKEN });
  const mayBeLeftSoon = (sent: MarkedRequest, given: Given) => bridge(given).mayBeLeftSoon(sent);

  check('is open while a running bridge answers that', () => {
    assert.is(mayBeLeftSoon(request(), { seen: [answering] }), true);
    assert.is(mayBeLeftSoon(request(), { seen: [marked()] }), false);
    assert.is(mayBeLeftSoon(request(), { seen: [answering], isListed: true }), false);
  });

  check('does not matter for a retry, for a request with a key, or for answers that this bridge gives', () => {
    assert.is(mayBeLeftSoon(retry, { seen: [answering] }), false);
    assert.is(mayBeLeftSoon(request({}, 'key'), { seen: [answering] }), false);
    assert.is(mayBeLeftSoon(request(), { seen: [answering], own: [TOKEN] }), false);
    assert.is(mayBeLeftSoon(request(), { seen: [answering], given: [TOKEN] }), false);
  });
});
