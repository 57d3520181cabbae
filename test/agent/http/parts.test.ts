import * as assert from 'uvu/assert';
import type { Part } from '../../../src/agent/protocol/types.ts';
import { describe } from '../../check.ts';
import { ask, messagesOf, until } from '../harness/permission-requests.ts';
import { type AgentWorld, calling, createAgentWorld, hanging, prompt, replying, toolNamed } from '../harness/world.ts';

const FILE = { type: 'file', mime: 'text/plain', filename: 'a.txt', url: 'data:text/plain,one' } as const;
const NONE = 'prt_000000000000AAAAAAAAAAAAAA';

/** A prompt with a text and a file, whose answer is a call and a text. */
const startChat = async (more: Parameters<typeof createAgentWorld>[0] = {}) => {
  const scripts = [calling({ name: 'look', input: { far: 1 } }), replying('first answer'), replying('more')];
  const world = await createAgentWorld({ titler: null, scripts, tools: [toolNamed('look')], ...more });
  const id = await world.session({ title: 'Plan' });
  await world.post(`/session/${id}/message`, { parts: [{ type: 'text', text: 'first words' }, FILE] });
  return { world, id };
};
const partsOf = async (world: AgentWorld, id: string): Promise<readonly Part[]> =>
  (await messagesOf(world, id)).flatMap(({ parts }) => parts);
const partOf = async <Type extends Part['type']>(world: AgentWorld, id: string, type: Type, at = 0) => {
  const part = (await partsOf(world, id)).filter((one): one is Extract<Part, { type: Type }> => one.type === type)[at];
  if (part === undefined) throw new Error(`there is no ${type}`);
  return part;
};
const pathOf = ({ id, sessionID, messageID }: Part): string => `/session/${sessionID}/message/${messageID}/part/${id}`;
const lastEvent = async (world: AgentWorld) => (await world.events()).at(-1);
const textsSent = (world: AgentWorld): string => JSON.stringify(world.asked.at(-1)?.messages);

describe('a part of a message', (check) => {
  check('gets another text, which clients hear of and the next model reads', async () => {
    const { world, id } = await startChat();
    const prompted = await partOf(world, id, 'text');
    const answered = await partOf(world, id, 'text', 1);
    for (const part of [prompted, answered]) {
      const changed = { ...part, text: part.text.replace('first', 'other') };
      const response = await world.call('PATCH', pathOf(part), { ...changed, time: { start: 1 } });
      assert.is(response.status, 200);
      assert.equal(await response.json(), changed, 'when it was written stays');
      const event = await lastEvent(world);
      assert.equal(event?.properties, { sessionID: id, part: changed, time: world.clock.now() });
      assert.is(event?.type, 'message.part.updated');
    }
    assert.equal(
      (await partsOf(world, id)).flatMap((part) => (part.type === 'text' ? [part.text] : [])),
      ['other words', 'other answer'],
    );
    await ask(world, id, 'two');
    assert.match(textsSent(world), /other words.*other answer.*two/);
    assert.not.match(textsSent(world), 'first');
  });

  check('gets another file, of which nothing of the old one stays', async () => {
    const { world, id } = await startChat();
    const { filename: _, ...file } = await partOf(world, id, 'file');
    const changed = { ...file, url: 'data:text/plain,two' };
    assert.equal(await (await world.call('PATCH', pathOf(file), changed)).json(), changed);
    assert.equal(await partOf(world, id, 'file'), changed);
  });

  check('is deleted, which clients hear of, and no model reads it again', async () => {
    const { world, id } = await startChat();
    const before = await partsOf(world, id);
    const call = await partOf(world, id, 'tool');
    const text = await partOf(world, id, 'text');
    for (const part of [call, text]) {
      assert.is(await (await world.call('DELETE', pathOf(part))).json(), true);
      const { id: partID, messageID } = part;
      const event = await lastEvent(world);
      assert.equal([event?.type, event?.properties], ['message.part.removed', { sessionID: id, messageID, partID }]);
      assert.is((await world.call('DELETE', pathOf(part))).status, 404);
    }
    assert.equal(
      await partsOf(world, id),
      before.filter((part) => part.id !== call.id && part.id !== text.id),
    );
    await ask(world, id, 'two');
    assert.not.match(textsSent(world), /first words|far/);
    assert.match(textsSent(world), 'first answer');
  });

  check('is not changed while an answer is in progress', async () => {
    const { world, id } = await startChat({ scripts: [replying('first answer'), hanging], tools: [] });
    const part = await partOf(world, id, 'text');
    const answer = ask(world, id, 'two');
    await until(world, () => world.asked.length === 2);
    for (const [method, body] of [
      ['PATCH', part],
      ['DELETE', undefined],
    ] as const)
      assert.is((await world.call(method, pathOf(part), body)).status, 409, method);
    await world.post(`/session/${id}/abort`);
    await answer;
    assert.equal(await partOf(world, id, 'text'), part);
  });

  check('keeps its place and its kind, and what was called stays as it was', async () => {
    const { world, id } = await startChat();
    const other = await world.session();
    const text = await partOf(world, id, 'text');
    const file = await partOf(world, id, 'file');
    const call = await partOf(world, id, 'tool');
    const before = await partsOf(world, id);
    const eventCount = (await world.events()).length;
    for (const [path, body, param] of [
      [pathOf(text), { ...text, id: NONE }, 'id'],
      [pathOf(text), { ...text, messageID: 'msg_1' }, 'messageID'],
      [pathOf(text), { ...text, sessionID: other }, 'sessionID'],
      [pathOf(text), { ...file, id: text.id }, 'type'],
      [pathOf(call), call, 'type'],
      [pathOf(call), { ...text, id: call.id, messageID: call.messageID }, 'type'],
      [pathOf(file), { ...file, url: 'file:///etc/passwd' }, 'url'],
      [pathOf(file), { ...file, url: 'data:image/png;base64,?' }, 'url'],
      [pathOf(text), { ...text, text: 1 }, 'text'],
    ] as const) {
      const response = await world.call('PATCH', path, body);
      assert.is(response.status, 400, param);
      assert.is(((await response.json()) as { data: { path: string } }).data.path, param);
    }
    assert.equal(await partsOf(world, id), before);
    assert.is((await world.events()).length, eventCount);
  });

  check('that there is not cannot be changed, and makes none', async () => {
    const { world, id } = await startChat();
    const other = await world.session();
    const part = await partOf(world, id, 'text');
    for (const there of [
      { ...part, id: NONE },
      { ...part, messageID: 'msg_000000000000AAAAAAAAAAAAAA' },
      { ...part, sessionID: other },
    ]) {
      assert.is((await world.call('PATCH', pathOf(there), there)).status, 404);
      assert.is((await world.call('DELETE', pathOf(there))).status, 404);
    }
    assert.equal((await messagesOf(world, other)).length, 0);
  });

  check('is not made larger than a prompt may be, nor its session', async () => {
    const { world, id } = await startChat();
    const part = await partOf(world, id, 'text');
    const large = await world.call('PATCH', pathOf(part), { ...part, text: 'x'.repeat(3 * 1024 * 1024 + 1) });
    assert.is(large.status, 413);
    const small = await startChat({
      scripts: [replying('yes')],
      changes: { memory: { limitBytes: 100_000, memoryBytes: 1_000_000 } },
    });
    const text = await partOf(small.world, small.id, 'text');
    const writing = async (value: string) =>
      (await small.world.call('PATCH', pathOf(text), { ...text, text: value })).status;
    assert.is(await writing('x'.repeat(98_000)), 200);
    assert.is(await writing('y'.repeat(99_999)), 413);
    assert.match((await partOf(small.world, small.id, 'text')).text, /^x+$/);
    // What it replaces does not count, and an answer may have filled the session.
    assert.is(await writing('z'.repeat(98_000)), 200);
    await ask(small.world, small.id, 'two');
    assert.is(await writing('z'.repeat(97_990)), 200);
  });

  check('is not changed, removed or reverted to once a prompt is stored that reads it', async () => {
    for (let lead = 0; lead < 24; lead += 3)
      for (const [method, end, body] of [
        ['PATCH', 'part', {}],
        ['DELETE', 'part', undefined],
        ['DELETE', 'message', undefined],
        ['POST', 'revert', undefined],
      ] as const) {
        const { world, id } = await startChat({ scripts: [replying('first answer'), hanging], tools: [] });
        const part = await partOf(world, id, 'text');
        const { messageID } = part;
        const before = (await world.events()).length;
        const answer = ask(world, id, 'two');
        for (let turn = 0; turn < lead; turn++) await Promise.resolve();
        const response =
          end === 'revert'
            ? await world.call(method, `/session/${id}/revert`, { messageID })
            : await world.call(
                method,
                end === 'part' ? pathOf(part) : `/session/${id}/message/${messageID}`,
                body === undefined ? undefined : { ...part, text: 'other words' },
              );
        await until(world, () => world.asked.length === 2);
        const events = (await world.events()).slice(before);
        const prompted = events.findIndex(({ type, properties }) => {
          return type === 'message.updated' && properties.info.role === 'user';
        });
        const changed = events.findIndex(({ type, properties }) =>
          end === 'revert'
            ? type === 'session.updated' && properties.info.revert !== undefined
            : (type === 'message.part.updated' && properties.part.id === part.id) || /removed$/.test(type),
        );
        const what = `${method} ${end} after ${lead} turns: ${response.status}`;
        assert.is(changed >= 0 && changed < prompted, response.status === 200, what);
        assert.is(changed >= 0, response.status === 200, what);
        if (response.status !== 200) assert.is(response.status, 409, what);
        await world.post(`/session/${id}/abort`);
        await answer;
      }
  });

  check('is not changed when another server stores a prompt meanwhile', async () => {
    for (const [method, body] of [
      ['PATCH', {}],
      ['DELETE', undefined],
    ] as const) {
      const { world, id } = await startChat({ scripts: [replying('first answer')], tools: [] });
      const part = await partOf(world, id, 'text');
      const own = world.store.message;
      let isStored = false;
      const storePrompt = async (): Promise<void> => {
        const before = await world.store.session(id);
        const asked = await own(id, part.messageID);
        if (before === undefined || asked === undefined) throw new Error('the session is gone');
        isStored = true;
        const message = { ...asked.info, id: 'msg_ffffffffffffAAAAAAAAAAAAAA' };
        await world.store.commit(
          [
            { kind: 'session', session: { ...before, time: { ...before.time, updated: 9e12 } }, before },
            { kind: 'message', message },
            { kind: 'answer', sessionID: id, promptID: message.id, state: 'owed' },
          ],
          [],
        );
      };
      Object.assign(world.store, {
        message: async (...asked: Parameters<typeof own>) => {
          const found = await own(...asked);
          if (!isStored) await storePrompt();
          return found;
        },
      });
      const status = (await world.call(method, pathOf(part), body && { ...part, text: 'other words' })).status;
      assert.is(status, 409, method);
      assert.equal((await own(id, part.messageID))?.parts[0], part);
    }
  });

  check('of a call that waits for a client ends the waiting when it is deleted', async () => {
    const world = await createAgentWorld({ titler: null, scripts: [calling({ name: 'weigh', input: {} })] });
    const id = await world.session();
    const tool = { name: 'weigh', description: 'Weighs', inputSchema: { type: 'object' } };
    await world.post(`/session/${id}/message`, prompt('weigh it', { clientTools: { tools: [tool] } }));
    const call = await partOf(world, id, 'tool');
    assert.is(call.state.status, 'running');
    assert.is((await world.call('DELETE', pathOf(call))).status, 200);
    const { awaitedCalls } = (await world.get(`/session/${id}`)) as { awaitedCalls?: unknown };
    assert.is(awaitedCalls, undefined);
  });
});
