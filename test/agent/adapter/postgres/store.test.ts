import * as assert from 'uvu/assert';
import { openPostgres } from '../../../../src/agent/adapter/postgres/connection.ts';
import { openPostgresStore } from '../../../../src/agent/adapter/postgres/store.ts';
import { describe, thorough } from '../../../check.ts';
import { checkStore } from '../../store/contract.ts';
import { dropSchema, startPostgres } from './world.ts';

const ALIVE_MS = 7000;
const database = await startPostgres();

const openAt = async (schema: string) => {
  const connection = await openPostgres({ url: database.url, schema, connections: 4 });
  const newServerID = () => crypto.randomUUID();
  return (await openPostgresStore({ connection, newServerID, aliveMs: ALIVE_MS })).store;
};

describe('a store in PostgreSQL', (check) => {
  checkStore(check, {
    isLasting: true,
    randomRuns: thorough(20, 60),
    async createPlace() {
      const schema = database.freshSchema();
      return { open: () => openAt(schema), clear: () => dropSchema(database, schema) };
    },
  });
});

describe('the database of the tests', (check) => {
  check('is stopped', async () => {
    await database.stop();
    assert.ok(true);
  });
});
