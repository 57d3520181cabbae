import * as assert from 'uvu/assert';
import type { Store } from '../../../../src/agent/store/store.ts';
import { describe } from '../../../check.ts';
import { answersIn, ask, messagesOf, textOf, until } from '../../harness/permission-requests.ts';
import { createAgentWorld, replying } from '../../harness/world.ts';
import { answer } from '../../store/samples.ts';
import { emptyStore, messageID, promptChanges, SESSION, sessionChange, untilQuiet } from './world.ts';

describe('an answer that is owed', (check) => {
  check('is not given a second time where another server has begun it since this one has found it', async () => {
    const inner = emptyStore();
    await inner.commit([sessionChange(), ...promptChanges(1, 'begun'), ...promptChanges(2, 'owed')], []);
    let looks = 0;
    const owed: Store['owed'] = async (sessionID) => {
      const found = await inner.owed(sessionID);
      looks += 1;
      // The first look is that of the start, when the other server had not begun yet.
      return looks === 1 ? found.map((one) => ({ ...one, isBegun: false })) : found;
    };
    const world = await createAgentWorld({ store: { ...inner, owed }, scripts: [replying('second')] });
    await untilQuiet(world);
    const answers = answersIn(await messagesOf(world, SESSION));
    assert.equal(
      answers.map(({ info, parts }) => [info.parentID, info.error?.name ?? textOf({ parts })]),
      [
        [messageID(1), 'MessageAbortedError'],
        [messageID(2), 'second'],
      ],
    );
    assert.is(world.asked.length, 1);
  });

  check('is found given by a server that had it in its queue, when another one was faster', async () => {
    const store = emptyStore();
    const given = answer(messageID(9), SESSION, { time: { created: 1, completed: 2 }, finish: 'stop' });
    const isFirst = Promise.withResolvers<void>();
    const world = await createAgentWorld({
      store: {
        ...store,
        async owed(sessionID) {
          // Before this server looks under its lease, another one has answered.
          if (sessionID === undefined) return store.owed();
          await isFirst.promise;
          return store.owed(sessionID);
        },
      },
    });
    const id = await world.session();
    const answering = ask(world, id);
    await until(world, async () => (await store.owed()).length === 1);
    const [owed] = await store.owed();
    const promptID = owed?.promptID ?? '';
    await store.commit(
      [
        { kind: 'message', message: { ...given, sessionID: id, parentID: promptID } },
        { kind: 'answer', sessionID: id, promptID, state: 'ended' },
      ],
      [],
    );
    isFirst.resolve();
    assert.is((await answering).info.id, messageID(9));
    assert.equal(world.asked, []);
  });
});
