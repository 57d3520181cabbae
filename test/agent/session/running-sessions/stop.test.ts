import * as assert from 'uvu/assert';
import { describe } from '../../../check.ts';
import { ask, textOf, until } from '../../harness/permission-requests.ts';
import { createAgentWorld, hanging, prompt, replying, type Script } from '../../harness/world.ts';

describe('a server that is asked to stop', (check) => {
  const ending = (): { readonly script: Script; readonly end: () => void } => {
    const gate = Promise.withResolvers<void>();
    return {
      async *script() {
        await gate.promise;
        yield* replying('in time')({} as never, new AbortController().signal);
      },
      end: gate.resolve,
    };
  };

  check('lets what runs come to its end, takes nothing in meanwhile, and waits no longer for it', async () => {
    const { script, end } = ending();
    const world = await createAgentWorld({ scripts: [script], changes: { drainMs: 5000 } });
    const id = await world.session();
    const answer = ask(world, id);
    await until(world, () => world.asked.length === 1);
    const stopped = world.server.stop();
    await world.clock.advance(1000);
    assert.is((await world.call('POST', `/session/${id}/message`, prompt('late'))).status, 503);
    end();
    assert.is(textOf(await answer), 'in time');
    await stopped;
  });

  check('answers what it was about to take in', async () => {
    const world = await createAgentWorld({ changes: { drainMs: 5000 } });
    const id = await world.session();
    const answer = ask(world, id);
    const stopped = world.server.stop();
    assert.is((await world.call('GET', `/session/${id}`)).status, 503);
    assert.is(textOf(await answer), 'hello');
    await stopped;
  });

  check('ends what does not come to its end', async () => {
    const world = await createAgentWorld({ scripts: [hanging], changes: { drainMs: 5000 } });
    const answer = ask(world, await world.session());
    await until(world, () => world.asked.length === 1);
    const stopped = world.server.stop();
    await world.clock.advance(4900);
    assert.equal((await world.store.unfinished()).length, 1);
    await world.clock.advance(200);
    assert.is((await answer).info.error?.name, 'MessageAbortedError');
    await stopped;
  });
});
