import { setTimeout as sleep } from 'node:timers/promises';
import postgres from 'postgres';
import { openPostgres } from '../../../../src/agent/adapter/postgres/connection.ts';
import { createNotificationChannel } from '../../../../src/agent/adapter/postgres/notifications.ts';
import { atEnd, describe } from '../../../check.ts';
import { startWire, until } from './cluster-world.ts';
import { startPostgres } from './world.ts';

/** Whether one of them is about to connect again at the moment when it is closed is a matter of chance. */
const COUNT = 8;
/** Longer than a connection that was lost waits at most before it is made again. */
const RECONNECTED_MS = 1200;

const database = await startPostgres();

describe('connections to a PostgreSQL that was away', (check) => {
  check('are not made again once they are closed: nothing keeps the process, or a place at the database', async () => {
    const { pathname } = new URL(database.url);
    const root = postgres(database.url, { max: 1, onnotice() {} });
    const wire = await startWire(database.port);
    const names = Array.from({ length: COUNT }, () => database.freshSchema());
    const openConnections = async (): Promise<number> => {
      const [row] = await root`SELECT count(*)::int AS count FROM pg_stat_activity
        WHERE datname = ${pathname.slice(1)} AND application_name = 'gatehouse agent'`;
      return Number(row?.count);
    };
    try {
      const opened = await Promise.all(
        names.map(async (schema) => {
          const connection = await openPostgres({ url: wire.urlOf(database.url), schema, connections: 1 });
          const channel = createNotificationChannel(connection);
          channel.listen(() => {});
          return { connection, channel };
        }),
      );
      await until('all of them listen', async () => (await openConnections()) === 2 * COUNT);
      wire.cutAt(() => true);
      wire.cutAll();
      await sleep(200);
      const closing = opened.map(async ({ connection, channel }, index) => {
        await sleep(5 * index);
        await channel.close();
        await connection.close();
      });
      await sleep((5 * COUNT) / 2);
      wire.cutAt(() => false);
      await Promise.all(closing);
      await sleep(RECONNECTED_MS);
      await until('none is left', async () => (await openConnections()) === 0);
    } finally {
      await wire.stop();
      await root.end();
    }
  });
});

atEnd(database.stop);
