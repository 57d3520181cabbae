import type { Sql } from './connection.ts';

/** Sessions that were begun and never completed are deleted after this time. */
const ABANDONED_AFTER = '1 day';

/** Deletes all but the newest events, limited by number and by bytes, and sessions that were begun and never completed. */
export const pruneEvents = async (
  sql: Sql,
  { keep, limitBytes }: { readonly keep: number; readonly limitBytes: number },
): Promise<void> => {
  await sql.begin(async (within) => {
    const [last] = await within`
      SELECT max(id) AS id FROM (
        SELECT id, row_number() OVER newest_first AS place, sum(octet_length(data)) OVER newest_first AS bytes
        FROM event WINDOW newest_first AS (ORDER BY id DESC ROWS UNBOUNDED PRECEDING)
      ) AS aged WHERE place > ${keep} OR bytes > ${limitBytes}`;
    if (typeof last?.id === 'string') {
      await within`DELETE FROM event WHERE id <= ${last.id}`;
      // Afterwards: who removes a session has deleted its events when it changes this row.
      await within`
        UPDATE event_mark SET forgotten = greatest(forgotten, ${last.id} COLLATE "C"), newest = greatest(newest, ${last.id} COLLATE "C")`;
    }
    await within`DELETE FROM session WHERE is_hidden AND begun_at < now() - ${ABANDONED_AFTER}::interval`;
  });
};
