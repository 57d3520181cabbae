import * as assert from 'uvu/assert';
import type { Part, Session } from '../../../src/agent/protocol/types.ts';

import { describe } from '../../check.ts';
import { contentsOf, eventsOf, messagesOf } from '../harness/permission-requests.ts';
import { createAgentWorld, prompt } from '../harness/world.ts';
import { createMemoryStore } from '../store/memory-store.ts';
import { idsFrom } from '../store/samples.ts';

const LIMIT_BYTES = 128 * 1024 * 1024;

/** A world in which each session seems to hold so many bytes. */
const worldHolding = (bytes: number) => {
  const store = createMemoryStore({ ids: idsFrom() });
  return createAgentWorld({ store: { ...store, messageOutlines: async () => [{ id: 'msg_1', bytes }] } });
};

describe('a session that is full', (check) => {
  check('takes no prompt that it has no space for, and says so; a shorter one it takes', async () => {
    const world = await worldHolding(LIMIT_BYTES - 1000);
    const id = await world.session();
    const before = JSON.stringify(await contentsOf(world.store));
    const file = { type: 'file', mime: 'text/plain', url: `data:text/plain,${'x'.repeat(1000)}` };
    for (const body of [prompt('x'.repeat(1001)), { parts: [file] }, prompt('x', { system: 'y'.repeat(1000) })]) {
      for (const route of ['message', 'prompt_async']) {
        const response = await world.call('POST', `/session/${id}/${route}`, { ...body, noReply: true });
        assert.is(response.status, 413);
        const { name, data } = (await response.json()) as { name: string; data: { message: string } };
        assert.is(name, 'PayloadTooLarge');
        assert.match(data.message, /no more than 134217728 may be in one\. Begin a new session$/);
      }
    }
    assert.is(JSON.stringify(await contentsOf(world.store)), before);
    const taken = await world.call('POST', `/session/${id}/message`, prompt('x'.repeat(900), { noReply: true }));
    assert.is(taken.status, 200);
  });
});

describe('a session on a server with little memory', (check) => {
  check('may hold what the server can read of it at a time', async () => {
    const memory = { limitBytes: 10_000, memoryBytes: 1_000_000 };
    const store = createMemoryStore({ ids: idsFrom() });
    const held = { ...store, messageOutlines: async () => [{ id: 'msg_1', bytes: 99_000 }] };
    const world = await createAgentWorld({ store: held, changes: { memory } });
    const path = `/session/${await world.session()}/message`;
    const refused = await world.call('POST', path, prompt('x'.repeat(1001), { noReply: true }));
    assert.is(refused.status, 413);
    assert.match(await refused.text(), 'no more than 100000 may be in one');
    assert.is((await world.call('POST', path, prompt('x'.repeat(900), { noReply: true }))).status, 200);
  });
});

describe('metadata of a session', (check) => {
  check('are 64 KiB of JSON at most, in characters of any length', async () => {
    const world = await createAgentWorld();
    const id = await world.session();
    const fitting = (text: string) => ({ metadata: { a: text } });
    for (const [text, isFitting] of [
      ['x'.repeat(65_528), true],
      ['x'.repeat(65_529), false],
      ['é'.repeat(32_764), true],
      ['é'.repeat(32_765), false],
      ['\0'.repeat(10_922), false],
      ['x'.repeat(10_000_000), false],
    ] as const) {
      for (const [method, path] of [
        ['POST', '/session'],
        ['PATCH', `/session/${id}`],
      ] as const) {
        const response = await world.call(method, path, fitting(text));
        assert.is(response.status, isFitting ? 200 : 400, `${method} ${text.length}`);
        if (isFitting) assert.equal(((await response.json()) as Session).metadata, { a: text });
        else assert.match(await response.text(), '"metadata: expected an object of at most 65536 bytes as JSON"');
      }
    }
  });
});

describe('a file', (check) => {
  check('is in its message whole, and in events only while it is small', async () => {
    const world = await createAgentWorld();
    const id = await world.session();
    const urlOf = (chars: number) => `data:image/png;base64,${'A'.repeat(chars - 22)}`;
    const [small, large] = [urlOf(65_534), urlOf(65_538)];
    const parts = [small, large].map((url) => ({ type: 'file', mime: 'image/png', filename: 'a.png', url }));
    const answered = (await world.post(`/session/${id}/message`, { parts, noReply: true })) as {
      parts: readonly Part[];
    };
    const urlsIn = (reported: readonly Part[]) => reported.map((part) => (part.type === 'file' ? part.url : part.type));
    assert.equal(urlsIn(answered.parts), [small, large]);
    assert.equal(urlsIn((await messagesOf(world, id))[0]?.parts ?? []), [small, large]);
    const reported = (await eventsOf(world, 'message.part.updated')).map(({ properties }) => properties.part);
    assert.equal(urlsIn(reported), [small, 'data:image/png;omitted,']);
    assert.equal({ ...reported[1], url: large }, answered.parts[1]);
  });
});
