import * as assert from 'uvu/assert';
import { createIds } from '../../../src/agent/protocol/ids.ts';
import type { Store } from '../../../src/agent/store/store.ts';
import { describe } from '../../check.ts';
import { createFakeClock } from '../../fake-clock.ts';
import { type Answer, ask, callsOf, isQuiet, until } from '../harness/permission-requests.ts';
import {
  type AgentWorld,
  calling,
  createAgentWorld,
  replying,
  type Script,
  toolNamed,
  type WorldGiven,
} from '../harness/world.ts';
import { createMemoryStore } from './memory-store.ts';

/** A store that remembers the types of the events of each commit. The one at `failing` fails. */
const countingStore = (failing = -1) => {
  const ids = createIds(createFakeClock(), (count) => crypto.getRandomValues(new Uint8Array(count)));
  const inner = createMemoryStore({ ids });
  const commits: string[][] = [];
  const store: Store = {
    ...inner,
    async commit(changes, events) {
      commits.push(events.map(({ draft }) => draft.type));
      if (commits.length === failing + 1) throw new Error('The disk is full');
      return inner.commit(changes, events);
    },
  };
  return { store, commits };
};

/** The commits of one answer in a session that has a title already. */
const commitsOf = async (given: WorldGiven): Promise<readonly string[][]> => {
  const { store, commits } = countingStore();
  const world = await createAgentWorld({ ...given, store });
  const id = await world.session({ title: 'Mine' });
  commits.length = 0;
  let isAnswered = false;
  const answered = ask(world, id).then(() => {
    isAnswered = true;
  });
  await until(world, () => isAnswered);
  await answered;
  return commits;
};

const TEXTS = ['message.part.updated', 'message.part.delta', 'message.part.updated'];
const CLOSED = ['session.updated', 'message.part.updated', 'message.updated', 'session.status', 'session.idle'];

describe('what an answer costs in commits', (check) => {
  check('is one for a session', async () => {
    const { store, commits } = countingStore();
    const world = await createAgentWorld({ store });
    await world.session();
    assert.equal(commits, [['session.created']]);
  });

  check('is three for a text that comes at once: the prompt, the beginning and the end', async () => {
    assert.equal(await commitsOf({ scripts: [replying('hello ', 'you')] }), [
      ['session.updated', 'message.updated', 'message.part.updated'],
      ['session.status', 'message.updated', 'message.part.updated'],
      [...TEXTS, ...CLOSED],
    ]);
  });

  check('is one more for each piece that a slow model lets wait for the next', async () => {
    const worlds: AgentWorld[] = [];
    const slow: Script = async function* (request, signal) {
      for (const delta of ['one ', 'two ']) {
        yield { kind: 'text', delta };
        await new Promise<void>((resolve) => worlds[0]?.clock.after(100, resolve));
      }
      yield* replying('three')(request, signal);
    };
    const [, , ...outputText] = await commitsOf({ scripts: [slow], onBuilt: (world) => worlds.push(world) });
    assert.equal(outputText, [
      ['message.part.updated', 'message.part.delta'],
      ['message.part.delta'],
      ['message.part.delta', 'message.part.updated', ...CLOSED],
    ]);
  });

  check('is four more for a step with a call: asked for, running, done, and the step', async () => {
    const scripts = [calling({ name: 'look', input: {} }), replying('seen')];
    const [, ...commits] = await commitsOf({ scripts, tools: [toolNamed('look')] });
    assert.equal(commits, [
      ['session.status', 'message.updated', 'message.part.updated'],
      ['message.part.updated', 'message.part.updated', 'session.updated'],
      ['message.part.updated'],
      ['message.part.updated'],
      ['message.part.updated', 'message.updated'],
      ['message.updated', 'message.part.updated'],
      [...TEXTS, ...CLOSED],
    ]);
  });

  check('leaves nothing open, and the session idle, whichever of them fails', async () => {
    for (let failing = 2; failing <= 9; failing++) {
      const { store, commits } = countingStore(failing);
      const worlds: AgentWorld[] = [];
      const slow: Script = async function* (request, signal) {
        yield { kind: 'call-begun', id: `call-${request.messages.length}-0`, name: 'look' };
        await new Promise<void>((resolve) => worlds[0]?.clock.after(100, resolve));
        yield* calling({ name: 'look', input: {} })(request, signal);
      };
      const onBuilt = (built: AgentWorld) => void worlds.push(built);
      const world = await createAgentWorld({
        store,
        scripts: [slow, replying('seen')],
        tools: [toolNamed('look')],
        onBuilt,
      });
      const id = await world.session({ title: 'Mine' });
      const answers: Answer[] = [];
      void ask(world, id).then((answer) => answers.push(answer));
      await until(world, () => answers.length === 1);
      const [{ info } = { info: undefined }] = answers;
      assert.ok(commits.length > failing, `only ${commits.length} commits`);
      assert.ok(info === undefined || info.error !== undefined, `commit ${failing}`);
      await until(world, () => isQuiet(world));
      for (const { state } of await callsOf(world, id)) assert.match(state.status, /^(?:completed|error)$/);
      const idle = (await world.events()).filter(({ type }) => type === 'session.idle');
      assert.is(idle.length, 1, `commit ${failing}`);
      assert.is((await world.events()).at(-1)?.type, 'session.idle', `commit ${failing}`);
    }
  });

  check('is three for each of several prompts, of which only the last one ends idle', async () => {
    const { store, commits } = countingStore();
    const world = await createAgentWorld({ store });
    const id = await world.session({ title: 'Mine' });
    commits.length = 0;
    await Promise.all([ask(world, id), ask(world, id)]);
    assert.is(commits.length, 6);
    assert.equal(
      commits.map((types) => types.includes('session.idle')),
      [false, false, false, false, false, true],
    );
  });
});
