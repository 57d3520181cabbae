import * as assert from 'uvu/assert';
import { createIds } from '../../../src/agent/protocol/ids.ts';
import type { Store, StoreChange } from '../../../src/agent/store/store.ts';
import { describe } from '../../check.ts';
import { createFakeClock } from '../../fake-clock.ts';
import {
  answersIn,
  ask,
  callsOf,
  eventsOf,
  isQuiet,
  messagesOf,
  outputOf,
  textOf,
} from '../harness/permission-requests.ts';
import { calling, createAgentWorld, outcome, replying, toolNamed } from '../harness/world.ts';
import { createMemoryStore } from '../store/memory-store.ts';

const objects = (levels: number): string => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;
const lists = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`;

/** A store that cannot write what lies too deep, as none can that writes JSON, nor a part that says "unfit". */
const writingStore = (): Store => {
  const ids = createIds(createFakeClock(), (count) => crypto.getRandomValues(new Uint8Array(count)));
  const inner = createMemoryStore({ ids });
  const isUnfit = (change: StoreChange): boolean =>
    change.kind === 'part' && JSON.stringify(change.part).includes('"unfit"');
  return {
    ...inner,
    async commit(changes, events) {
      JSON.stringify(changes);
      if (changes.some(isUnfit)) throw new Error('Cannot be written');
      return inner.commit(changes, events);
    },
  };
};

describe('what lies deep', (check) => {
  check('in the arguments of a call is refused, and the model goes on', async () => {
    for (const [levels, isMade] of [
      [64, true],
      [65, false],
      [50_000, false],
    ] as const) {
      const given: unknown[] = [];
      const tool = toolNamed('look', async (input) => {
        given.push(input);
        return outcome('seen');
      });
      const raw = objects(levels);
      const world = await createAgentWorld({
        store: writingStore(),
        tools: [tool],
        scripts: [calling({ name: 'look', input: JSON.parse(raw), raw }), replying('done')],
      });
      const id = await world.session();
      assert.is(textOf(await ask(world, id)), 'done', `${levels}`);
      assert.is(given.length, isMade ? 1 : 0);
      assert.match(outputOf((await callsOf(world, id))[0]), isMade ? 'seen' : 'more than 64 levels');
      assert.ok(await isQuiet(world));
    }
  });

  check('in a body is a bad request', async () => {
    const world = await createAgentWorld();
    for (const [method, path] of [
      ['POST', '/session'],
      ['PATCH', `/session/${await world.session()}`],
    ] as const) {
      for (const [levels, status, message = ''] of [
        [62, 200],
        [63, 400, 'body: expected at most 64 levels'],
        [40_000, 400, 'body: expected at most 64 levels'],
        [200_000, 400, 'more than 50000 values'],
      ] as const) {
        const body = `{"metadata":{"a":${lists(levels)}}}`;
        const headers = { 'content-type': 'application/json' };
        const response = await world.server.handler(new Request(`http://agent.test${path}`, { method, headers, body }));
        const reported = await response.text();
        assert.is(response.status, status, `${method} ${levels}`);
        assert.match(reported, message);
      }
    }
  });
});

describe('a message whose last part cannot be kept', (check) => {
  check('ends all the same, as an error, and so does its turn', async () => {
    const world = await createAgentWorld({
      store: writingStore(),
      tools: [toolNamed('look')],
      scripts: [calling({ name: 'look', input: { a: 'unfit' } }), replying('never')],
    });
    const id = await world.session({ title: 'Mine' });
    assert.is((await ask(world, id)).info.error?.name, 'UnknownError');
    const [answer] = answersIn(await messagesOf(world, id));
    assert.is(answer?.info.finish, 'error');
    assert.ok(answer?.info.time.completed !== undefined);
    assert.ok(await isQuiet(world));
    assert.equal((await world.events()).at(-1)?.type, 'session.idle');
    assert.is((await eventsOf(world, 'session.error')).length, 1);
  });
});
