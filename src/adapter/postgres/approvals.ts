import { outcomeOf, type PermissionOutcome, type PermissionRequest } from '../../agent/protocol/permissions.ts';
import type { Rule } from '../../agent/protocol/types.ts';
import type { PermissionBoard } from '../../agent/store/cluster.ts';
import { columnText } from '../sql-store.ts';
import type { PostgresConnection } from './connection.ts';
import { isForeignKeyViolation } from './errors.ts';
import type { Membership } from './membership.ts';
import type { NotificationChannel } from './notifications.ts';
import { keepDecision } from './queries/decisions.ts';

type ApprovalsParts = {
  readonly connection: PostgresConnection;
  readonly membership: Membership;
  readonly channel: NotificationChannel;
};
type PostgresApprovals = PermissionBoard & {
  /** Delivers the outcomes of this server's permission requests that were answered at other servers. */
  readonly deliverOutcomes: () => Promise<void>;
};

/** Permission requests as rows in the database. The server that asked gets the outcome, whichever server received it. */
export const createPostgresApprovals = ({
  connection: { query },
  membership,
  channel,
}: ApprovalsParts): PostgresApprovals => {
  const listeners = new Map<string, (outcome: PermissionOutcome) => void>();
  const deliver = async (requestID: string, outcome: PermissionOutcome): Promise<void> => {
    const onOutcome = listeners.get(requestID);
    listeners.delete(requestID);
    onOutcome?.(outcome);
    await query((sql) => sql`DELETE FROM ask WHERE id = ${requestID}`);
  };
  return {
    async add(request, onOutcome) {
      listeners.set(request.id, onOutcome);
      const id = membership.serverID();
      try {
        await query(
          (sql) => sql`INSERT INTO ask (id, server_id, data) VALUES (${request.id}, ${id}, ${JSON.stringify(request)})`,
        );
      } catch (error) {
        listeners.delete(request.id);
        throw isForeignKeyViolation(error) ? await membership.rejoin(id) : error;
      }
    },
    async withdraw(decision) {
      listeners.delete(decision.id);
      await query(
        (sql) => sql`
          WITH gone AS (DELETE FROM ask WHERE id = ${decision.id} RETURNING outcome),
            ${keepDecision(sql, decision, sql`SELECT 1 FROM gone WHERE outcome IS NULL`)}
          SELECT 1`,
      );
    },
    async answer(decision) {
      const { id: requestID, covers = [] } = decision;
      // The id comes from a client. PostgreSQL cannot store a NUL, so no request has such an id.
      if (requestID.includes('\0')) return false;
      const rules = JSON.stringify(covers.map((rule) => JSON.stringify(rule)));
      const outcome = outcomeOf(decision);
      const [row] = await query(
        (sql) => sql`
          WITH won AS (
            UPDATE ask SET outcome = ${JSON.stringify(outcome)} WHERE id = ${requestID} AND outcome IS NULL
            RETURNING server_id
          ), noted AS (
            INSERT INTO allowed (data)
            SELECT value FROM json_array_elements_text(${rules}::text::json) WHERE EXISTS (SELECT 1 FROM won)
          ), ${keepDecision(sql, decision, sql`SELECT 1 FROM won`)}
          SELECT server_id FROM won`,
      );
      if (row === undefined) return false;
      // The outcome is stored: a server that misses this notification reads it at its next heartbeat.
      if (listeners.has(requestID)) await deliver(requestID, outcome).catch(() => {});
      else await channel.publish({ kind: 'answer', from: membership.serverID(), about: requestID }).catch(() => {});
      return true;
    },
    async open() {
      const rows = await query((sql) => sql`SELECT data FROM ask WHERE outcome IS NULL ORDER BY seq`);
      return rows.map((row): PermissionRequest => JSON.parse(columnText(row, 'data')));
    },
    async allowedRules() {
      const rows = await query((sql) => sql`SELECT data FROM allowed ORDER BY seq`);
      return rows.map((row): Rule => JSON.parse(columnText(row, 'data')));
    },
    async deliverOutcomes() {
      if (listeners.size === 0) return;
      const rows = await query(
        (sql) => sql`SELECT id, outcome FROM ask WHERE server_id = ${membership.serverID()} AND outcome IS NOT NULL`,
      );
      for (const row of rows) await deliver(columnText(row, 'id'), JSON.parse(columnText(row, 'outcome')));
    },
  };
};
