import * as assert from 'uvu/assert';
import type { PostgresConnection } from '../../../src/adapter/postgres/connection.ts';
import { createPostgresReads } from '../../../src/adapter/postgres/reads.ts';
import { textPart, userMessage } from '../../agent/store/samples.ts';
import { describe } from '../../check.ts';

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
