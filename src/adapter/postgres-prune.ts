import type { Sql } from './postgres/connection.ts';

/** Begun sessions are given up after a day. */
const GIVEN_UP = '1 day';

/** Forgets all but the newest events, by their number and by their bytes, and sessions whose making was given up. */
export const prune = async (
  sql: Sql,
  { keep, limitBytes }: { readonly keep: number; readonly limitBytes: number },
): Promise<void> => {
  await sql.begin(async (within) => {
    // As every commit does: the newest id must be known before any go.
    await within`SELECT 1 FROM event_mark FOR UPDATE`;
    const [last] = await within`
      SELECT max(id) AS id FROM (
        SELECT id, row_number() OVER newest_first AS place, sum(octet_length(data)) OVER newest_first AS bytes
        FROM event WINDOW newest_first AS (ORDER BY id DESC ROWS UNBOUNDED PRECEDING)
      ) AS aged WHERE place > ${keep} OR bytes > ${limitBytes}`;
    if (typeof last?.id === 'string') {
      await within`UPDATE event_mark SET forgotten = greatest(forgotten, ${last.id} COLLATE "C")`;
      await within`DELETE FROM event WHERE id <= ${last.id}`;
    }
    await within`DELETE FROM session WHERE is_hidden AND begun_at < now() - ${GIVEN_UP}::interval`;
  });
};
