import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { describe } from './check.ts';

type Cores = {
  readonly servers: readonly number[];
  readonly behind: string;
  readonly load: number;
  readonly isOneEach: boolean;
};
type Costs = {
  readonly servers: number;
  readonly serverMs: number;
  readonly databaseMs: number | undefined;
  readonly databaseCores: number;
};
type Benches = {
  readonly coresFor: (servers: number, cpus: readonly number[]) => Cores;
  readonly modelPerSecond: (costs: Costs) => { readonly part: string; readonly perSecond: number };
};

type PlanRow = readonly [name: string, formula: string, value: number];
type Plan = {
  readonly planOf: (given: Readonly<Record<string, number>>) => readonly PlanRow[];
  readonly planMarkdown: () => string;
};

const BENCH = join(import.meta.dirname, '../bench');
const { coresFor }: Benches = await import(join(BENCH, 'cores.mjs'));
const { modelPerSecond }: Benches = await import(join(BENCH, 'agent/messages-table.mjs'));
const { planMarkdown, planOf }: Plan = await import(join(BENCH, 'plan.mjs'));

describe('where a bench holds its parts', (check) => {
  check('each server has a core, the database what is left, the load the last one', () => {
    assert.equal(coresFor(2, [0, 1, 2, 3, 4]), { servers: [0, 1], behind: '2,3', load: 4, isOneEach: true });
  });

  check('with too few cores for two servers these share one, and that is told', () => {
    assert.equal(coresFor(2, [0, 1]), { servers: [0, 0], behind: '1', load: 1, isOneEach: false });
    assert.is(coresFor(1, [0, 1]).isOneEach, true);
    assert.equal(coresFor(1, [3]), { servers: [3], behind: '3', load: 3, isOneEach: false });
  });
});

describe('the messages a second that processor time allows', (check) => {
  check('the part that is full first sets the limit', () => {
    const costs = { serverMs: 5, databaseMs: 4, databaseCores: 1 };
    assert.equal(modelPerSecond({ ...costs, servers: 1 }), { part: 'servers', perSecond: 200 });
    assert.equal(modelPerSecond({ ...costs, servers: 2 }), { part: 'database', perSecond: 250 });
    assert.equal(modelPerSecond({ ...costs, servers: 2, databaseCores: 2 }), { part: 'servers', perSecond: 400 });
    assert.is(modelPerSecond({ ...costs, servers: 3, databaseMs: undefined }).perSecond, 600);
  });
});

describe('the plan for a number of verdicts', (check) => {
  const rowOf = (name: string, given: Readonly<Record<string, number>>): number =>
    planOf(given).find(([row]) => row === name)?.[2] ?? Number.NaN;

  check('stands in docs/scale.md as `node bench/plan.mjs --markdown` prints it', () =>
    assert.ok(readFileSync(join(BENCH, '../docs/scale.md'), 'utf8').includes(planMarkdown())),
  );

  check('takes twice the cards for twice the verdicts, and none for what is in a cache', () => {
    const name = 'H100s, the judge alone';
    assert.ok(Math.abs(rowOf(name, { verdicts: 2000 }) - 2 * rowOf(name, { verdicts: 1000 })) < 1e-9);
    assert.is(rowOf(name, { cached: 1 }), 0);
  });

  check('counts a written token as several read ones', () => {
    const name = 'H100s, with the prefix cached';
    const more = (given: Readonly<Record<string, number>>) => rowOf(name, { writtenCost: 3, ...given });
    assert.ok(Math.abs(more({ verdictTokens: 81 }) - more({ textTokens: 180 })) < 1e-6);
    assert.is(Math.round(rowOf(name, {}) / 100), 303);
  });

  check('asks the judge about what the guard model leaves', () => {
    const alone = rowOf('H100s, with the prefix cached', {});
    const guarded = (inDoubt: number) => rowOf('H100s, a guard model first, with `clears`', { inDoubt });
    assert.ok(Math.abs(guarded(1) - guarded(0) - alone) < 1e-6);
    assert.is(rowOf('H100s, a guard model first, without `clears`', {}), guarded(1));
  });

  check('divides what a key may send by the processor time of its limit', () =>
    assert.is(rowOf('requests a second of one gateway key', { redisLimitMicros: 10, load: 1 }), 100_000),
  );
});
