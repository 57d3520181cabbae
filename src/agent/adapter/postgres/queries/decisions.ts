import { isAboutRequest, type PermissionDecision } from '../../../protocol/permissions.ts';
import { DECISIONS_KEPT, type DecisionQuery } from '../../../store/store.ts';
import { rowToDecision } from '../../sql-store.ts';
import type { PostgresConnection, Sql } from '../connection.ts';
import { asID } from './reads.ts';

/**
 * The parts of a WITH clause that keep a decision where the query `condition` has rows, and delete those of its kind that are too
 * old, as they were before. The first decision about a request stays.
 */
export const keepDecision = (sql: Sql, decision: PermissionDecision, condition: ReturnType<Sql>) => {
  const isAsked = isAboutRequest(decision);
  const last = sql`(SELECT max(place) FROM decision WHERE is_asked = ${isAsked})`;
  return sql`
    kept AS (
      INSERT INTO decision (id, is_asked, place, data)
      SELECT ${decision.id}, ${isAsked}, coalesce(${last}, 0) + 1, ${JSON.stringify(decision)} WHERE EXISTS (${condition})
        AND NOT EXISTS (SELECT 1 FROM decision WHERE id = ${decision.id})
      ON CONFLICT (id) DO NOTHING
    ), aged AS (
      DELETE FROM decision WHERE is_asked = ${isAsked} AND place <= ${last} + 1 - ${DECISIONS_KEPT}
    )`;
};

/** The decisions of the store. */
export const createPostgresDecisions = ({ query }: PostgresConnection) => ({
  async recordDecision(decision: PermissionDecision): Promise<void> {
    await query((sql) => sql`WITH ${keepDecision(sql, decision, sql`SELECT 1`)} SELECT 1`);
  },
  async decision(requestID: string): Promise<PermissionDecision | undefined> {
    const [row] = await query((sql) => sql`SELECT data FROM decision WHERE id = ${asID(requestID)}`);
    return row === undefined ? undefined : rowToDecision(row);
  },
  async decisions({ limit, beforeID, isAsked }: DecisionQuery): Promise<readonly PermissionDecision[]> {
    const rows = await query(
      (sql) => sql`
        SELECT data FROM decision WHERE true
        ${isAsked === undefined ? sql`` : sql`AND is_asked`}
        ${beforeID === undefined ? sql`` : sql`AND seq < (SELECT seq FROM decision WHERE id = ${asID(beforeID)})`}
        ORDER BY seq DESC LIMIT ${limit}`,
    );
    return rows.map(rowToDecision);
  },
});
