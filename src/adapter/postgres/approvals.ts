import type { PermissionRequest, Rule } from '../../agent/protocol/types.ts';

import type { AskBoard, AskOutcome } from '../../agent/store/cluster.ts';
import { textIn } from '../stored-rows.ts';
import type { PostgresLink } from './connection.ts';
import { isHomeless } from './errors.ts';
import type { Seat } from './membership.ts';
import type { NewsChannel } from './notifications.ts';

export type AsksNeeds = { readonly link: PostgresLink; readonly seat: Seat; readonly news: NewsChannel };
export type PostgresAsks = AskBoard & {
  /** Looks for answers to questions of this server that were given elsewhere. */
  readonly look: () => Promise<void>;
};

/** Questions to people as rows in the database. Whoever asked hears the answer, wherever it was given. */
export const createPostgresAsks = ({ link: { ask }, seat, news }: AsksNeeds): PostgresAsks => {
  const hearing = new Map<string, (outcome: AskOutcome) => void>();
  const told = async (requestID: string, outcome: AskOutcome): Promise<void> => {
    const hear = hearing.get(requestID);
    hearing.delete(requestID);
    hear?.(outcome);
    await ask((sql) => sql`DELETE FROM ask WHERE id = ${requestID}`);
  };
  return {
    async put(request, hear) {
      hearing.set(request.id, hear);
      const id = seat.id();
      try {
        await ask(
          (sql) => sql`INSERT INTO ask (id, server_id, data) VALUES (${request.id}, ${id}, ${JSON.stringify(request)})`,
        );
      } catch (error) {
        hearing.delete(request.id);
        throw isHomeless(error) ? await seat.lost(id) : error;
      }
    },
    async withdraw(requestID) {
      hearing.delete(requestID);
      await ask((sql) => sql`DELETE FROM ask WHERE id = ${requestID}`);
    },
    async answer({ requestID, outcome, allows }) {
      // It comes from outside, and no question has one that the database cannot hold.
      if (requestID.includes('\0')) return false;
      const rules = JSON.stringify(allows.map((rule) => JSON.stringify(rule)));
      const [row] = await ask(
        (sql) => sql`
          WITH won AS (
            UPDATE ask SET outcome = ${JSON.stringify(outcome)} WHERE id = ${requestID} AND outcome IS NULL
            RETURNING server_id
          ), noted AS (
            INSERT INTO allowed (data)
            SELECT value FROM json_array_elements_text(${rules}::text::json) WHERE EXISTS (SELECT 1 FROM won)
          )
          SELECT server_id FROM won`,
      );
      if (row === undefined) return false;
      // It has counted from here on: whoever does not hear of it now does so at the next beat.
      if (hearing.has(requestID)) await told(requestID, outcome).catch(() => {});
      else await news.tell({ kind: 'answer', from: seat.id(), about: requestID }).catch(() => {});
      return true;
    },
    async open() {
      const rows = await ask((sql) => sql`SELECT data FROM ask WHERE outcome IS NULL ORDER BY seq`);
      return rows.map((row): PermissionRequest => JSON.parse(textIn(row, 'data')));
    },
    async allowed() {
      const rows = await ask((sql) => sql`SELECT data FROM allowed ORDER BY seq`);
      return rows.map((row): Rule => JSON.parse(textIn(row, 'data')));
    },
    async look() {
      if (hearing.size === 0) return;
      const rows = await ask(
        (sql) => sql`SELECT id, outcome FROM ask WHERE server_id = ${seat.id()} AND outcome IS NOT NULL`,
      );
      for (const row of rows) await told(textIn(row, 'id'), JSON.parse(textIn(row, 'outcome')));
    },
  };
};
