import * as assert from 'uvu/assert';
import { followEvents } from '../../../../src/agent/events/stream.ts';
import { describe, rejection } from '../../../check.ts';
import { fed, idsIn, turn } from './world.ts';

describe('following events', (check) => {
  check('ends when the reader leaves, also while nothing happens', async () => {
    const { publish, follow, listeners } = fed();
    const reader = follow(undefined, '/a');
    await turn();
    assert.is(listeners(), 1);
    reader.leave();
    await reader.done;
    assert.is(listeners(), 0);
    await publish('/a');
    assert.equal(reader.collected, []);
    const gone = follow();
    gone.leave();
    await gone.done;
    assert.is(listeners(), 0);
  });

  check('ends for a reader that lags too far behind, who finds the rest when it comes back', async () => {
    const { store, publish, follow, publisher, ending, end } = fed();
    const left = new AbortController().signal;
    const source = followEvents(
      { store, publisher, ending: ending.signal },
      { afterID: undefined, directory: undefined, disconnected: left },
    );
    const first = source.next();
    await publish('/a');
    const greeted = (await first).value;
    const collected = [greeted !== undefined && 'event' in greeted ? greeted.event.id : ''];
    for (let count = 0; count < 12; count++) await publish('/a', 1000);
    // It reads on, as slowly as it likes, and comes to an end at the bound.
    for await (const reported of source) {
      collected.push('event' in reported ? reported.event.id : 'lost');
      if (collected.length === 5000) await publish('/a', 10);
    }
    assert.is(collected.length, 10_001);
    const again = follow(collected.at(-1));
    await turn();
    end();
    await again.done;
    assert.equal([...collected, ...again.collected], await idsIn(store));
  });

  check('ends for a reader that lags many bytes behind, however few events they are', async () => {
    const { store, publishTexts, publisher, ending } = fed();
    const source = followEvents(
      { store, publisher, ending: ending.signal },
      { afterID: undefined, directory: undefined, disconnected: new AbortController().signal },
    );
    const first = source.next();
    await publishTexts(['a']);
    await first;
    const megabyte = 'x'.repeat(1024 * 1024);
    for (let count = 0; count < 40; count++) await publishTexts([megabyte]);
    let collected = 0;
    for await (const reported of source) collected += 'event' in reported ? 1 : 0;
    assert.is(collected, 15);
  });

  check('goes on for a reader that keeps up, however much it is in the end', async () => {
    const { publishTexts, follow, end } = fed();
    const reader = follow();
    await turn();
    const megabyte = 'x'.repeat(1024 * 1024);
    for (let count = 0; count < 20; count++) {
      await publishTexts([megabyte, megabyte]);
      await turn();
    }
    end();
    await reader.done;
    assert.is(reader.collected.length, 40);
  });

  check('reports one event that is larger than a reader may lag behind', async () => {
    const { publishTexts, follow, end } = fed();
    const reader = follow();
    await turn();
    for (const text of ['a', 'x'.repeat(20_000_000), 'b']) {
      await publishTexts([text]);
      await turn();
    }
    end();
    await reader.done;
    assert.is(reader.collected.length, 3);
  });

  check('ends in the middle of what was missed when the server stops, and reports nothing past the gap', async () => {
    const { store, publish, publisher, ending, end } = fed();
    await publish('/a', 1700);
    const ids = await idsIn(store);
    const source = followEvents(
      { store, publisher, ending: ending.signal },
      { afterID: ids[0], directory: undefined, disconnected: new AbortController().signal },
    );
    const collected: string[] = [];
    for await (const reported of source) {
      collected.push('event' in reported ? reported.event.id : 'lost');
      if (collected.length === 1) await publish('/a', 5);
      if (collected.length === 2) end();
    }
    assert.equal(collected, ids.slice(1, 501));
  });

  check('ends with the failure of the store', async () => {
    const { follow, listeners } = fed((inner) => ({
      ...inner,
      events: async () => {
        throw new Error('the store is gone');
      },
    }));
    const reader = follow('evt_000000000000aaaaaaaaaaaaaa');
    assert.match(String(await rejection(reader.done)), 'the store is gone');
    assert.is(listeners(), 0);
  });
});
