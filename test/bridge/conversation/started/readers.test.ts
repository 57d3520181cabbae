import * as assert from 'uvu/assert';
import type { MarkedConversation } from '../../../../src/bridge/conversation/started/marks.ts';
import {
  areAllOlder,
  type ChangeConversation,
  createBridgeID,
  createTurnReaders,
} from '../../../../src/bridge/conversation/started/readers.ts';
import type { RequestMark } from '../../../../src/bridge/conversation/types.ts';
import { describe } from '../../../check.ts';
import { createFakeClock } from '../../../fake-clock.ts';
import { answered, marked, TOKEN } from './marked.ts';

const clock = createFakeClock();
const times = {
  leftAtOf: ({ left }: RequestMark) => left?.atMs,
  failedAtOf: () => undefined,
};
const HERE = createBridgeID(clock.now(), 'here');
const BEFORE = createBridgeID(clock.now() - 1000, 'before');
const BESIDE = createBridgeID(clock.now() + 1000, 'beside');

/** A turn whose mark all bridges read and write in one session. */
const turnOf = (mark: Partial<RequestMark>, promptID?: string, recorded = {}) => {
  let stored = marked(mark, recorded);
  let writes = 0;
  let reads = 0;
  const change: ChangeConversation = async (_sessionID, changeStored, base) => {
    if (base === 'latest') reads += 1;
    const changed = changeStored(stored);
    if (changed?.request === undefined) return stored;
    writes += 1;
    stored = { ...changed, request: changed.request };
    return stored;
  };
  const marks = { ofToken: () => stored, times };
  const at = (bridgeID: string) =>
    createTurnReaders({ bridgeID, change, known: () => stored, marks, clock })({
      sessionID: () => 'ses_1',
      token: TOKEN,
      promptID,
    });
  return { at, mark: () => stored.request, writes: () => writes, reads: () => reads };
};
/** Changes run in order: once the later one is done, so is the one that nobody can wait for. */
const join = async (turn: ReturnType<typeof turnOf>, bridgeID: string): Promise<void> => {
  const readers = turn.at(bridgeID);
  readers.join();
  await readers.isAbandoned();
};

/** The clients of a turn whose session cannot be read; before that, this bridge knew that these others read it. */
const unreadable = (others: readonly string[]) => {
  const request = { digest: '', token: TOKEN, createdSeconds: 0, readers: [HERE, ...others] };
  return createTurnReaders({
    bridgeID: HERE,
    change: () => Promise.reject(new Error('The agent does not answer')),
    known: () => undefined,
    marks: { ofToken: () => ({ request }) as unknown as MarkedConversation, times },
    clock,
  })({ sessionID: () => 'ses_1', token: TOKEN });
};

describe('bridges where clients read a turn', (check) => {
  check('may all have been killed if all were started before this one', () => {
    assert.is(areAllOlder(marked({ readers: [BEFORE] }).request, HERE), true);
    assert.is(areAllOlder(marked({ readers: [BEFORE, BESIDE] }).request, HERE), false);
    assert.is(areAllOlder(marked({ readers: [HERE] }).request, HERE), false);
    assert.is(areAllOlder(marked().request, HERE), true);
  });
  check('may not if the last client has left one that was started later', () => {
    assert.is(areAllOlder(marked({ readers: [], left: { by: BEFORE, atMs: 1 } }).request, HERE), true);
    for (const by of [HERE, BESIDE])
      assert.is(areAllOlder(marked({ readers: [], left: { by, atMs: 1 } }).request, HERE), false);
  });
});

describe('a client that reads a turn', (check) => {
  check('is in the mark beside those of other bridges, and the turn is not abandoned any more', async () => {
    const turn = turnOf({ readers: [BESIDE], left: { by: BESIDE, atMs: 1 } }, 'msg_1');
    await join(turn, HERE);
    assert.equal(turn.mark().readers, [BESIDE, HERE]);
    assert.is(turn.mark().left, undefined);
    assert.is(turn.mark().promptID, 'msg_1');
  });

  check('is written only where its bridge is not in the mark already', async () => {
    const turn = turnOf({ readers: [HERE] });
    await join(turn, HERE);
    assert.is(turn.writes(), 0);
    await join(turn, BESIDE);
    assert.equal(turn.mark().readers, [HERE, BESIDE]);
  });

  check('joins only if the mark allows it as it is then', async () => {
    const turn = turnOf({ readers: [], left: { by: BESIDE, atMs: 1 } });
    assert.is(await turn.at(HERE).tryJoin(({ left }) => left === undefined, false), false);
    assert.equal(turn.mark().readers, []);
    assert.is(await turn.at(HERE).tryJoin(({ left }) => left !== undefined, false), true);
    assert.equal(turn.mark().readers, [HERE]);
  });

  check('takes the place of clients at older bridges if those were killed, and of no others', async () => {
    const killed = turnOf({ readers: [BEFORE] });
    await killed.at(HERE).tryJoin(() => true, true);
    assert.equal(killed.mark().readers, [HERE]);
    const running = turnOf({ readers: [BEFORE, BESIDE] });
    await running.at(HERE).tryJoin(() => true, true);
    assert.equal(running.mark().readers, [BEFORE, BESIDE, HERE]);
  });

  check('changes nothing where the session has the mark of a later request', async () => {
    const turn = turnOf({ token: 'token00000002', readers: [] });
    assert.is(await turn.at(HERE).tryJoin(() => true, false), false);
    assert.is(turn.writes(), 0);
  });
});

describe('a client that leaves a turn', (check) => {
  check('is not the last one while another bridge has one, which then is', async () => {
    const turn = turnOf({ readers: [HERE, BESIDE] });
    assert.is(await turn.at(HERE).leave(), false);
    assert.is(turn.mark().left, undefined);
    assert.is(await turn.at(BESIDE).leave(), true);
    assert.equal(turn.mark().left, { by: BESIDE, atMs: clock.now() });
  });

  check('has its turn aborted by its own bridge alone, and by none once a client has come back', async () => {
    const turn = turnOf({ readers: [HERE] });
    await turn.at(HERE).leave();
    assert.is(await turn.at(HERE).isAbandoned(), true);
    assert.is(await turn.at(BESIDE).isAbandoned(), false);
    await join(turn, BESIDE);
    assert.is(await turn.at(HERE).isAbandoned(), false);
  });

  check('is seen at the other bridges, with the time', async () => {
    const turn = turnOf({ readers: [HERE] });
    assert.equal(turn.at(BESIDE).elsewhere(), { isRead: true, leftAtMs: undefined });
    await turn.at(HERE).leave();
    assert.equal(turn.at(BESIDE).elsewhere(), { isRead: false, leftAtMs: clock.now() });
    assert.equal(turn.at(HERE).elsewhere(), { isRead: false, leftAtMs: undefined });
  });
});

describe('what a mark says of the clients of an answer that was recorded', (check) => {
  const failedAtMs = clock.now();

  check('is that none has all of it once the last one has left, but for a failure', async () => {
    const turn = turnOf({ readers: [HERE, BESIDE] }, undefined, answered());
    await turn.at(HERE).leave();
    assert.is(turn.mark().isUnread, undefined);
    await turn.at(BESIDE).leave();
    assert.is(turn.mark().isUnread, true);
    const failed = turnOf({ readers: [HERE], failedAtMs }, undefined, answered());
    await failed.at(HERE).leave();
    assert.is(failed.mark().isUnread, undefined);
  });

  check('is that one has all of it, written where it did not say so', async () => {
    const turn = turnOf({ readers: [HERE], isUnread: true }, undefined, answered());
    for (const _ of [1, 2]) {
      const readers = turn.at(HERE);
      readers.finish();
      await readers.isAbandoned();
      await readers.isAbandoned();
    }
    assert.is(turn.mark().isUnread, false);
    assert.is(turn.writes(), 1);
  });

  check('is that one has all of it, written without a read before', async () => {
    const turn = turnOf({ readers: [HERE], isUnread: true }, undefined, answered());
    const before = turn.reads();
    turn.at(HERE).finish();
    for (let turns = 0; turn.writes() === 0 && turns < 50; turns++) await Promise.resolve();
    assert.is(turn.writes(), 1);
    assert.is(turn.reads(), before);
  });

  check('is not written where a client read it when it was recorded', async () => {
    const turn = turnOf({ readers: [HERE] }, undefined, answered());
    const readers = turn.at(HERE);
    readers.finish();
    await readers.isAbandoned();
    await readers.isAbandoned();
    assert.is(turn.writes(), 0);
  });
});

describe('a turn whose session cannot be read when its client leaves', (check) => {
  check('goes on if another bridge was known to have a client', async () => {
    assert.is(await unreadable([BESIDE]).leave(), false);
    assert.is(await unreadable([BESIDE]).isAbandoned(), false);
  });

  check('is abandoned if none was', async () => {
    assert.is(await unreadable([]).leave(), true);
    assert.is(await unreadable([]).isAbandoned(), true);
  });
});
