import * as assert from 'uvu/assert';
import type { PostgresConnection } from '../../../../src/agent/adapter/postgres/connection.ts';
import { createPostgresReads } from '../../../../src/agent/adapter/postgres/queries/reads.ts';
import { eventIDOf } from '../../../../src/agent/adapter/postgres/schema/commit-function.ts';
import { describe } from '../../../check.ts';
import { reported, textPart, userMessage } from '../../store/samples.ts';

const SESSION = 'ses_1';
const MESSAGES = 10;
const TEXT_CHARS = 400_000;

describe('a long session in PostgreSQL', (check) => {
  check('is parsed in pieces, between which everything else gets a turn', async () => {
    const expected = Array.from({ length: MESSAGES }, (_, place) => {
      const info = userMessage(`msg_${place}`, SESSION);
      const part = textPart({ id: `prt_${place}`, messageID: info.id, sessionID: SESSION }, 'x'.repeat(TEXT_CHARS));
      return { info, parts: [part] };
    });
    const rows = expected.map(({ info, parts }) => ({
      id: info.id,
      data: JSON.stringify(info),
      part: JSON.stringify(parts[0]),
    }));
    const connection = { query: async () => rows } as unknown as PostgresConnection;
    let turns = 0;
    let isOver = false;
    const count = (): void => {
      turns += 1;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    const messages = await createPostgresReads(connection, (part) => part).messages(SESSION, {});
    isOver = true;
    assert.equal(messages, expected);
    assert.ok(turns >= MESSAGES / 2 - 1, `${turns} turns`);
  });
});

describe('events in PostgreSQL', (check) => {
  check('are read up to the group that their own query saw settled, whatever another one sees meanwhile', async () => {
    const replies = [Promise.withResolvers<object[]>(), Promise.withResolvers<object[]>()];
    let sent = 0;
    const query = () => replies[sent++]?.promise;
    const reads = createPostgresReads({ query } as unknown as PostgresConnection, (part) => part);
    const earlier = reads.settledEvents({ afterID: '', limit: 10 });
    const later = reads.settledEvents({ afterID: '', limit: 10 });
    const row = { id: eventIDOf(12, 1), directory: '"/"', data: JSON.stringify(reported('in the second')) };
    replies[1]?.resolve([{ settled: '12' }, { settled: '12', ...row }]);
    assert.is((await later).settled, 12);
    replies[0]?.resolve([{ settled: '10' }]);
    assert.equal(await earlier, { events: [], settled: 10, isWhole: true });
  });
});
