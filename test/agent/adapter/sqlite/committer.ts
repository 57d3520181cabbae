// Commits without end to the store whose path it is given, and says on stdout which commits were kept. For a test that
// kills it.
import { writeSync } from 'node:fs';
import { systemClock } from '../../../../src/adapter/node/clock.ts';
import { openSqliteStore } from '../../../../src/agent/adapter/sqlite/store.ts';
import { createIds } from '../../../../src/agent/protocol/ids.ts';
import type { Store } from '../../../../src/agent/store/store.ts';
import { reported, sessionOf, textPart, userMessage } from '../../store/samples.ts';

/** Long enough that a commit is several pages of the file. */
const FILLING = 'x'.repeat(9000);
const TOGETHER = 3;

/** Everything in the commit says its number. */
const commitNumbered = async (store: Store, number: number): Promise<void> => {
  const place = { messageID: 'msg_1', sessionID: 'ses_1' };
  const text = `${number} ${FILLING}`;
  await store.commit(
    [
      { kind: 'session', session: sessionOf('ses_1', { title: String(number) }) },
      { kind: 'message', message: userMessage('msg_1', 'ses_1') },
      { kind: 'part', part: textPart({ id: 'prt_1', ...place }, text) },
      { kind: 'part', part: textPart({ id: 'prt_2', ...place }, text) },
      { kind: 'output', sessionID: 'ses_1', partID: 'prt_1', text },
    ],
    [reported(`${number} first`), reported(`${number} second`)],
  );
  writeSync(1, `kept ${number}\n`);
};

const store = await openSqliteStore({
  file: process.argv[2] ?? '',
  ids: createIds(systemClock, (count) => crypto.getRandomValues(new Uint8Array(count))),
});
for (let number = Number(process.argv[3]); ; number += TOGETHER) {
  const group = Array.from({ length: TOGETHER }, (_, index) => commitNumbered(store, number + index));
  await Promise.all(group);
}
