import {
  outcomeOf,
  type PermissionOutcome,
  type PermissionRequest,
  type StandingRule,
  standingRuleOf,
} from '../../protocol/permissions.ts';
import type { PermissionBoard } from '../../store/cluster.ts';
import { columnText } from '../sql-store.ts';
import type { PostgresConnection } from './connection.ts';
import { isForeignKeyViolation } from './errors.ts';
import type { Membership } from './membership.ts';
import type { NotificationChannel } from './notifications.ts';
import { keepDecision } from './queries/decisions.ts';
import { asID } from './queries/reads.ts';

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
      const { id: requestID, at } = decision;
      // The id comes from a client. PostgreSQL cannot store a NUL, so no request has such an id.
      if (requestID.includes('\0')) return false;
      const until = standingRuleOf(decision)?.until ?? 0;
      const outcome = outcomeOf(decision);
      const [row] = await query(
        (sql) => sql`
          WITH won AS (
            UPDATE ask SET outcome = ${JSON.stringify(outcome)} WHERE id = ${requestID} AND outcome IS NULL
            RETURNING server_id
          ), noted AS (
            INSERT INTO standing_rule (id, session_id, until, data)
            SELECT ${requestID}, ${decision.sessionID}, ${until}::bigint, ${JSON.stringify(decision)} FROM won WHERE ${until}::bigint > 0
          ), over AS (
            DELETE FROM standing_rule WHERE until <= ${at}
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
    async standing(now) {
      const rows = await query(
        (sql) => sql`SELECT data, uses::text FROM standing_rule WHERE until > ${now} ORDER BY seq`,
      );
      return rows.map(
        (row): StandingRule => ({
          ...JSON.parse(columnText(row, 'data')),
          uses: Number(columnText(row, 'uses')),
        }),
      );
    },
    async use(ruleID, decision) {
      const rows = await query(
        (sql) => sql`
          WITH used AS (
            UPDATE standing_rule SET uses = uses + 1 WHERE id = ${ruleID} AND until > ${decision.at} RETURNING id
          ), ${keepDecision(sql, decision, sql`SELECT 1 FROM used`)}
          SELECT id FROM used`,
      );
      return rows.length > 0;
    },
    async revoke(ruleID) {
      const rows = await query((sql) => sql`DELETE FROM standing_rule WHERE id = ${asID(ruleID)} RETURNING id`);
      return rows.length > 0;
    },
    // The commit that removes a session deletes its rules.
    async endWith() {},
    async deliverOutcomes() {
      if (listeners.size === 0) return;
      const rows = await query(
        (sql) => sql`SELECT id, outcome FROM ask WHERE server_id = ${membership.serverID()} AND outcome IS NOT NULL`,
      );
      for (const row of rows) await deliver(columnText(row, 'id'), JSON.parse(columnText(row, 'outcome')));
    },
  };
};
