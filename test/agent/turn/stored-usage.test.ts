import * as assert from 'uvu/assert';
import { ModelError } from '../../../src/agent/model/types.ts';
import { createIds } from '../../../src/agent/protocol/ids.ts';
import type { Session } from '../../../src/agent/protocol/types.ts';
import { StoreUnavailableError } from '../../../src/agent/store/errors.ts';
import type { Store } from '../../../src/agent/store/store.ts';
import { describe } from '../../check.ts';
import { createFakeClock } from '../../fake-clock.ts';
import { answersIn, ask, isQuiet, messagesOf } from '../harness/permission-requests.ts';
import { calling, createAgentWorld, failing, outcome, replying, type Script, toolNamed } from '../harness/world.ts';
import { createMemoryStore } from '../store/memory-store.ts';

const TOO_LONG = failing(new ModelError('overflow', 'The context is full'));
const isUsage = ([changes]: Parameters<Store['commit']>): boolean =>
  changes.some((change) => change.kind === 'session' && change.session.cost > (change.before?.cost ?? 0));

/** A store that is away for the commit of a usage, counted from 0. Of some stores that commit is stored all the same. */
const awayFor = (usage: number, isStored: boolean): Store => {
  const ids = createIds(createFakeClock(), (count) => crypto.getRandomValues(new Uint8Array(count)));
  const inner = createMemoryStore({ ids });
  let count = 0;
  return {
    ...inner,
    async commit(...given) {
      if (!isUsage(given) || count++ !== usage) return inner.commit(...given);
      if (isStored) await inner.commit(...given);
      throw new StoreUnavailableError();
    },
  };
};

const CASES: Readonly<Record<string, readonly [usage: number, scripts: readonly Script[]]>> = {
  'an answer': [0, [replying('one'), replying('two')]],
  'a step that calls a tool': [0, [calling({ name: 'read', input: {} }), replying('one'), replying('two')]],
  'a summary': [1, [replying('one'), TOO_LONG, replying('in short'), replying('two')]],
};

describe('a session whose store was away', (check) => {
  for (const [what, [usage, scripts]] of Object.entries(CASES)) {
    for (const isStored of [false, true]) {
      const outcomeText = isStored ? 'was stored without an answer' : 'was not stored';
      check(`costs what its messages cost when the usage of ${what} ${outcomeText}`, async () => {
        const tools = [toolNamed('read', async () => outcome('read'))];
        const world = await createAgentWorld({ store: awayFor(usage, isStored), tools, scripts });
        const id = await world.session();
        await ask(world, id, 'first');
        await ask(world, id, 'second');
        const messages = answersIn(await messagesOf(world, id));
        const costs = messages.map(({ info }) => info.cost);
        assert.ok(messages.some(({ info }) => info.finish === 'error'));
        const { cost } = (await world.get(`/session/${id}`)) as Session;
        assert.ok(cost > 0);
        assert.ok(Math.abs(cost - costs.reduce((sum, one) => sum + one, 0)) < 1e-12, `${cost}: ${costs.join(' ')}`);
        assert.ok(await isQuiet(world));
      });
    }
  }
});
