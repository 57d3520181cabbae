import * as assert from 'uvu/assert';
import { createPublisher } from '../../../src/agent/events/publisher.ts';
import { createOpenStreams, holdUntilDelivered } from '../../../src/agent/events/readers.ts';

import { followEvents } from '../../../src/agent/events/stream.ts';
import { describe } from '../../check.ts';
import { createFakeClock } from '../../fake-clock.ts';
import { createMemoryStore } from '../store/memory-store.ts';
import { idsFrom } from '../store/samples.ts';

const world = () => {
  const [clock, streams, ending] = [createFakeClock(), createOpenStreams(), new AbortController()];
  let answered: string | undefined;
  const ask = async (): Promise<void> => {
    void holdUntilDelivered({ clock, streams, ending: ending.signal }, Promise.resolve('done')).then((value) => {
      answered = value;
    });
    await clock.advance(0);
  };
  return { clock, streams, ending, ask, answered: () => answered };
};

describe('an answer beside event streams', (check) => {
  check('waits for no one when no one listens, or all have received everything', async () => {
    const { streams, ask, answered, clock } = world();
    const stream = streams.begin();
    stream.queued();
    stream.drained();
    await ask();
    assert.is(answered(), 'done');
    assert.is(clock.pending(), 0);
  });

  check('comes a moment after the last reader was given what had happened by then', async () => {
    const { streams, ask, answered, clock } = world();
    const [first, second] = [streams.begin(), streams.begin()];
    for (const stream of [first, second]) stream.queued();
    second.queued();
    await ask();
    // What happens from now on is not waited for.
    first.queued();
    first.delivered();
    second.delivered();
    await clock.advance(100);
    assert.is(answered(), undefined);
    second.delivered();
    await clock.advance(24);
    assert.is(answered(), undefined);
    await clock.advance(1);
    assert.is(answered(), 'done');
    assert.is(clock.pending(), 0);
  });

  check('does not wait for a reader that has left, nor long for one that does not read', async () => {
    const { streams, ask, answered, clock } = world();
    const [left, slow] = [streams.begin(), streams.begin()];
    for (const stream of [left, slow]) stream.queued();
    await ask();
    left.end();
    await clock.advance(224);
    assert.is(answered(), undefined);
    await clock.advance(1);
    assert.is(answered(), 'done');
    assert.is(streams.count(), 1);
  });

  check('is held back no more once the server stops', async () => {
    const { streams, ask, answered, clock, ending } = world();
    streams.begin().queued();
    await ask();
    ending.abort();
    await clock.advance(0);
    assert.is(answered(), 'done');
    assert.is(clock.pending(), 0);
  });
});

describe('a stream that is followed', (check) => {
  /** A stream, events to be told in it, and whether its reader is behind. */
  const followed = async (afterID?: string) => {
    const store = createMemoryStore({ ids: idsFrom() });
    const publisher = createPublisher(store);
    const publish = () =>
      publisher.publish('/a', { drafts: [{ type: 'session.idle', properties: { sessionID: 'ses_1' } }] });
    const [missed] = await publish();
    const [streams, leaving] = [createOpenStreams(), new AbortController()];
    const wanted = { afterID: afterID ?? missed?.id, directory: undefined, disconnected: leaving.signal };
    const needs = { store, publisher, ending: new AbortController().signal };
    const events = followEvents(needs, { ...wanted, progress: streams.begin() });
    return { publish, events, leaving, streams, isBehind: () => streams.caughtUp() !== undefined };
  };
  const turn = () => new Promise<void>((resolve) => void setImmediate(resolve));

  check('is behind until its reader has taken what happened and asks for more', async () => {
    const { publish, events, leaving, isBehind } = await followed();
    const first = events.next();
    await turn();
    assert.not(isBehind());
    await publish();
    await publish();
    await first;
    assert.ok(isBehind());
    await events.next();
    assert.ok(isBehind());
    const third = events.next();
    await turn();
    assert.not(isBehind());
    leaving.abort();
    await third;
  });

  check('is waited for up to what had happened, also when there is always more', async () => {
    const { publish, events, leaving, streams } = await followed();
    const first = events.next();
    await turn();
    await publish();
    let isOver = false;
    void streams.caughtUp()?.then(() => {
      isOver = true;
    });
    await publish();
    await publish();
    await first;
    await turn();
    assert.not(isOver);
    await events.next();
    await turn();
    assert.ok(isOver);
    leaving.abort();
    await events.return(undefined);
  });

  check('is not behind for what it has read of the store instead', async () => {
    const { publish, events, leaving, isBehind } = await followed('evt_00000000000000000000000000');
    await events.next();
    await publish();
    await events.next();
    const later = events.next();
    await turn();
    assert.not(isBehind());
    leaving.abort();
    await later;
  });
});
