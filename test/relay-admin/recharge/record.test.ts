import * as assert from 'uvu/assert';
import { RelayError } from '../../../src/relay-admin/errors/errors.ts';
import { createJournal, type JournalFile } from '../../../src/relay-admin/recharge/journal.ts';
import { createOutcomeRecorder } from '../../../src/relay-admin/recharge/record.ts';
import { describe, rejection } from '../../check.ts';
import { createFakeClock } from '../../fake-clock.ts';
import { createScriptedRelay, historyRow } from '../harness/scripted-relay.ts';
import { createIds, createMemoryFile } from '../harness/world.ts';

const NEVER = new AbortController().signal;
const MARKER = 'rc_0123456789abcdef';
const USER = { id: 7, email: 'a@b.test', role: 'user', status: 'active', balance: 10 };

/** A recharge of 12.5 that was claimed, and what is recorded of it. `isCredited`: the history holds it. */
const claimed = async (
  isCredited: boolean,
  append: (write: () => Promise<void>) => Promise<void> = (write) => write(),
) => {
  const clock = createFakeClock();
  const memory = createMemoryFile();
  const file = memory.open();
  let isSlow = false;
  const journalFile: JournalFile = {
    readNew: file.readNew,
    append: (line) => (isSlow ? append(() => file.append(line)) : file.append(line)),
  };
  const journal = createJournal(journalFile, createIds());
  const hashes = { token: 'a'.repeat(64), key: 'b'.repeat(64) };
  const { claim } = await journal.claim({
    ...hashes,
    at: clock.now(),
    marker: MARKER,
    userId: 7,
    amount: '12.5',
    balanceBefore: '10',
  });
  isSlow = true;
  const items = isCredited ? [historyRow(1, { notes: `recharge ${MARKER}` })] : [];
  const { relay } = createScriptedRelay(({ path }) =>
    path.endsWith('balance-history') ? { items, total: items.length } : USER,
  );
  return {
    claim,
    recorder: createOutcomeRecorder({ relay, journal, clock, log() {} }),
    recorded: () => memory.lines.slice(1).map((line) => JSON.parse(line)),
  };
};

describe('what is recorded of a recharge', (check) => {
  check('is a refusal that credited nothing: not accepted, and with its status', async () => {
    const { claim, recorder, recorded } = await claimed(false);
    const refusal = { kind: 'refused', status: 429, isBeforeHandler: true } as const;
    assert.instance(await rejection(recorder.recordRefusal(claim, refusal, NEVER)), RelayError);
    const [{ state, isAccepted, status }] = recorded();
    assert.equal([state, isAccepted, status], ['not_applied', false, 429]);
  });

  check('is there before a recharge without a record is recalled, which is no replay of the relay', async () => {
    const safe = Promise.withResolvers<void>();
    const { claim, recorder, recorded } = await claimed(true, (write) => safe.promise.then(write));
    let isRecalled = false;
    const recalling = recorder.recall({ claim, settlement: undefined }, NEVER).finally(() => {
      isRecalled = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    assert.not(isRecalled);
    safe.resolve();
    const { outcome, reason, replayed, relay_replayed } = await recalling;
    assert.equal(
      [outcome, reason, replayed, relay_replayed],
      ['accepted_unverified', 'answer_not_recorded', true, false],
    );
    assert.equal(
      recorded().map(({ state }) => state),
      ['accepted_unverified'],
    );
  });
});
