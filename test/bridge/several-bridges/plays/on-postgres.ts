import { systemClock } from '../../../../src/adapter/node/clock.ts';
import { startReplica } from '../../../agent/adapter/postgres/replicas.ts';
import { dropSchema, type TestPostgres } from '../../../agent/adapter/postgres/world.ts';
import { SHOWN } from '../../harness/world.ts';
import type { OpenArena } from './arena.ts';

/** Several plays share a process: none of its servers may count as dead because the others keep it busy. */
const TIMES = { beatMs: 300, aliveMs: 4000 };

/** Servers on a schema of the database, in the machine's own time: the same seed makes the same requests, and not the same play. */
export const onPostgres =
  (database: TestPostgres): OpenArena =>
  async () => {
    const schema = database.freshSchema();
    return {
      clock: systemClock,
      isExact: false,
      slowMs: 300,
      async startServer(given) {
        let isKilled = false;
        const isGone = () => isKilled;
        const asked = given(isGone);
        const changes = { configViews: SHOWN };
        const { vanish, leave, ...agent } = await startReplica(database, schema, { ...asked, changes }, TIMES);
        return {
          agent,
          isGone,
          vanish() {
            isKilled = true;
            return vanish();
          },
          stop: () => leave().catch(() => {}),
        };
      },
      tick: () => new Promise((resolve) => setTimeout(resolve, 5)),
      during: (work) => work,
      close: () => dropSchema(database, schema),
    };
  };
