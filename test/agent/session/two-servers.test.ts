import * as assert from 'uvu/assert';
import { createPublisher } from '../../../src/agent/events/publisher.ts';
import { createIds } from '../../../src/agent/protocol/ids.ts';
import { createSessions } from '../../../src/agent/session/sessions.ts';
import { describe } from '../../check.ts';
import { createFakeClock } from '../../fake-clock.ts';
import { createMemoryStore } from '../store/memory-store.ts';

describe('sessions of two servers on one store', (check) => {
  check('keep every change, no matter who makes it', async () => {
    const clock = createFakeClock();
    const ids = createIds(clock, (count) => crypto.getRandomValues(new Uint8Array(count)));
    const store = createMemoryStore({ ids });
    const server = () => createSessions({ store, publisher: createPublisher(store), ids, clock, version: '1' });
    const servers = [server(), server(), server()];
    const { id } = await servers[0]!.create({ directory: '/' });
    const changes = Array.from({ length: 30 }, (_, index) =>
      servers[index % servers.length]!.update(id, (session) => ({ ...session, cost: session.cost + 1 })),
    );
    await Promise.all(changes);
    assert.is((await store.session(id))?.cost, 30);
    assert.is((await store.events({ afterID: '', limit: 100 })).length, 31);
  });
});
