import * as assert from 'uvu/assert';
import type { RetentionLimits } from '../../../src/agent/session/retention.ts';
import { StoreUnavailableError } from '../../../src/agent/store/errors.ts';
import { describe } from '../../check.ts';
import { NO_AGENT_METRICS } from '../harness/metrics.ts';
import { ask, asksWhen, isQuiet, reply, until } from '../harness/permission-requests.ts';
import {
  type AgentWorld,
  calling,
  createAgentWorld,
  hanging,
  outcome,
  replying,
  toolNamed,
  type WorldGiven,
} from '../harness/world.ts';
import { createMemoryStore } from '../store/memory-store.ts';
import { idsFrom } from '../store/samples.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

const keeping = async (retention: RetentionLimits, given: WorldGiven = {}) => {
  const retired: number[] = [];
  const metrics = { ...NO_AGENT_METRICS, sessionsRetired: (sessions: number) => void retired.push(sessions) };
  const changes = { ...given.changes, retention, metrics };
  const world = await createAgentWorld({ titler: null, ...given, changes });
  return { world, retired };
};
const idsIn = async (world: AgentWorld): Promise<readonly string[]> =>
  (await world.store.sessions({})).map(({ id }) => id).sort();
/** Time in steps, so that what a round begins is done before the next hour. */
const goOn = async (world: AgentWorld, ms: number): Promise<void> => {
  for (let left = ms; left > 0; left -= MINUTE_MS) await world.clock.advance(Math.min(left, MINUTE_MS));
};
const loggedAs = ({ logged }: AgentWorld, event: string) =>
  logged.map((line) => JSON.parse(line)).filter((line) => line.event === event);

describe('retention in the server', (check) => {
  check('removes what is too old a few minutes after the start, and every hour from then on', async () => {
    const { world, retired } = await keeping({ ageMs: DAY_MS });
    const old = await world.session();
    const child = await world.session({ parentID: old });
    await goOn(world, 12 * HOUR_MS);
    const young = await world.session();
    await goOn(world, 12 * HOUR_MS - MINUTE_MS);
    assert.equal(await idsIn(world), [child, old, young].sort());
    await goOn(world, HOUR_MS + MINUTE_MS);
    assert.equal(await idsIn(world), [young]);
    assert.equal(retired, [2]);
    const lines = loggedAs(world, 'sessions-retired');
    assert.equal(
      lines.map(({ level, count }) => [level, count]),
      [['info', 2]],
    );
    const deleted = (await world.events()).filter(({ type }) => type === 'session.deleted');
    assert.equal(
      deleted.map(({ properties }) => 'sessionID' in properties && properties.sessionID),
      [child, old],
    );
    assert.is((await world.call('GET', `/session/${old}`)).status, 404);
    await goOn(world, 13 * HOUR_MS);
    assert.equal(await idsIn(world), []);
    await world.server.stop();
  });

  check('keeps the newest so many, by the last prompt in them', async () => {
    const { world } = await keeping({ count: 2 });
    const first = await world.session();
    await world.clock.advance(10);
    const second = await world.session();
    await world.clock.advance(10);
    const third = await world.session();
    await world.clock.advance(10);
    await ask(world, first);
    await goOn(world, 5 * MINUTE_MS);
    assert.equal(await idsIn(world), [first, third].sort());
    assert.is((await world.call('GET', `/session/${second}`)).status, 404);
    await world.server.stop();
  });

  check('removes nothing unless it is asked to, and waits for nothing then', async () => {
    const { world } = await keeping({});
    await world.session();
    await goOn(world, 3 * HOUR_MS);
    assert.is((await idsIn(world)).length, 1);
    assert.equal(loggedAs(world, 'sessions-retired'), []);
    await world.server.stop();
  });

  check('leaves a session with an answer under way, in it or below it, for the next time', async () => {
    const rules = [{ permission: '*', pattern: '*', action: 'ask' as const }];
    const tools = [toolNamed('pay', async () => outcome('paid'))];
    const scripts = [calling({ name: 'pay', input: {} }), replying('done')];
    const patience = { permissionTimeoutMs: 10 * HOUR_MS, turnTimeoutMs: 10 * HOUR_MS };
    const { world } = await keeping({ ageMs: MINUTE_MS }, { rules, tools, scripts, changes: patience });
    const root = await world.session();
    const child = await world.session({ parentID: root });
    const idle = await world.session();
    const answer = ask(world, child);
    const [asked] = await asksWhen(world, 1);
    await goOn(world, 6 * MINUTE_MS);
    assert.equal(await idsIn(world), [root, child].sort());
    assert.not.ok((await idsIn(world)).includes(idle));
    await reply(world, asked, { reply: 'once' });
    assert.is((await answer).info.finish, 'stop');
    await goOn(world, HOUR_MS);
    assert.equal(await idsIn(world), []);
    await world.server.stop();
  });

  check('leaves a session whose prompt waits for its answer to begin', async () => {
    const gate = Promise.withResolvers<void>();
    const mcp = () => ({
      start: () => {},
      settled: () => gate.promise,
      statuses: () => ({}),
      instructions: () => [],
      connect: async () => 'not-found' as const,
      disconnect: async () => 'not-found' as const,
      tools: () => [],
      stop: async () => {},
    });
    const { world } = await keeping({ ageMs: MINUTE_MS }, { changes: { mcp } });
    const [id] = [await world.session(), await world.session()];
    const answer = ask(world, id);
    await goOn(world, 6 * MINUTE_MS);
    assert.equal(await world.store.unfinished(), []);
    assert.equal(await idsIn(world), [id]);
    gate.resolve();
    assert.is((await answer).info.finish, 'stop');
    await world.server.stop();
  });

  check('leaves a session that was prompted this moment for the next time', async () => {
    const { world } = await keeping({ count: 1 });
    const first = await world.session();
    await goOn(world, 3 * MINUTE_MS - 10_000);
    await ask(world, first);
    await world.clock.advance(5);
    await world.session();
    // The round comes seconds after.
    await world.clock.advance(10_000);
    assert.is((await idsIn(world)).length, 2);
    await goOn(world, HOUR_MS + MINUTE_MS);
    assert.is((await idsIn(world)).length, 1);
    await world.server.stop();
  });

  check('goes on with the next hour when the store was away, and says so', async () => {
    let isAway = true;
    const held = createMemoryStore({ ids: idsFrom() });
    const store = {
      ...held,
      sessionOutlines: async () => {
        if (isAway) throw new StoreUnavailableError();
        return held.sessionOutlines();
      },
    };
    const { world } = await keeping({ ageMs: MINUTE_MS }, { store });
    await world.session();
    await goOn(world, 5 * MINUTE_MS);
    const [line] = loggedAs(world, 'retention-failed');
    assert.equal([line?.level, line?.reason], ['warn', 'StoreUnavailable']);
    isAway = false;
    await goOn(world, HOUR_MS);
    assert.equal(await idsIn(world), []);
    await world.server.stop();
  });

  check('ends with the server, and begins with one that is ready', async () => {
    let looks = 0;
    const held = createMemoryStore({ ids: idsFrom() });
    const store = {
      ...held,
      sessionOutlines: async () => {
        looks += 1;
        return held.sessionOutlines();
      },
    };
    const { world } = await keeping({ ageMs: MINUTE_MS }, { store });
    assert.is(looks, 0);
    await goOn(world, 4 * MINUTE_MS);
    assert.is(looks, 1);
    await world.server.stop();
    await goOn(world, 3 * HOUR_MS);
    assert.is(looks, 1);
  });

  check('is harmless when two servers on one store do it at the same time', async () => {
    const store = createMemoryStore({ ids: idsFrom() });
    const one = await keeping({ ageMs: MINUTE_MS }, { store });
    const other = await keeping({ ageMs: MINUTE_MS }, { store });
    for (let count = 0; count < 5; count++) await one.world.session();
    await Promise.all([goOn(one.world, 10 * MINUTE_MS), goOn(other.world, 10 * MINUTE_MS)]);
    assert.equal(await idsIn(one.world), []);
    const deleted = (await one.world.events()).filter(({ type }) => type === 'session.deleted');
    assert.is(deleted.length, 5);
    const counts = [...one.retired, ...other.retired];
    assert.is(
      counts.reduce((sum, count) => sum + count, 0),
      5,
    );
    for (const { world } of [one, other]) {
      assert.equal(loggedAs(world, 'retention-failed'), []);
      await world.server.stop();
    }
  });

  check('does not hold up who prompts meanwhile: a run that hangs stays', async () => {
    const { world } = await keeping({ ageMs: MINUTE_MS }, { scripts: [hanging] });
    const id = await world.session();
    const answer = ask(world, id);
    await until(world, () => world.asked.length === 1);
    await goOn(world, 10 * MINUTE_MS);
    assert.equal(await idsIn(world), [id]);
    await world.post(`/session/${id}/abort`);
    await answer;
    await until(world, () => isQuiet(world));
    await world.server.stop();
  });
});
