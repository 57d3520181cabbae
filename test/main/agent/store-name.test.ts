import { resolve } from 'node:path';
import * as assert from 'uvu/assert';
import { storeName } from '../../../src/main/agent/maintenance.ts';
import { describe } from '../../check.ts';

describe('the name of a store', (check) => {
  check('is its whole path, or its address without what may be secret', () => {
    assert.is(storeName({ kind: 'sqlite', path: './data/agent.db' }), resolve('data/agent.db'));
    for (const [url, name] of [
      ['postgres://db.test/agent', 'postgres://db.test/agent'],
      ['postgres://user:p@ss@db.test:5433/agent?password=canary&sslmode=require', 'postgres://db.test:5433/agent'],
      ['postgres://db.test/agent?password=x@canary', 'postgres://db.test/agent'],
      ['postgres://user:p?canary@db.test/agent', 'postgres://db.test/agent'],
      ['postgresql://user@one.test,two.test/agent#canary', 'postgresql://one.test,two.test/agent'],
    ] as const)
      assert.is(storeName({ kind: 'postgres', url }), name);
  });
});
