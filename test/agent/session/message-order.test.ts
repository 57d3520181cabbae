import * as assert from 'uvu/assert';
import type { ModelMessage } from '../../../src/agent/model/types.ts';
import { createIds } from '../../../src/agent/protocol/ids.ts';
import type { Store } from '../../../src/agent/store/store.ts';
import { describe } from '../../check.ts';
import { createFakeClock } from '../../fake-clock.ts';
import { ask, eventsOf, messagesOf, textOf, until } from '../harness/permission-requests.ts';
import { calling, createAgentWorld, replying, type Script, toolNamed, type WorldGiven } from '../harness/world.ts';
import { createMemoryStore } from '../store/memory-store.ts';

const HOUR_MS = 3_600_000;
const START = Date.UTC(2026, 0, 1);
const randomBytes = (count: number): Uint8Array => crypto.getRandomValues(new Uint8Array(count));
const idsAt = (ms: number) => createIds(createFakeClock(ms), randomBytes);
const freshStore = (): Store => createMemoryStore({ ids: idsAt(START) });

/** A server over a store whose clock is off by so much. */
const serverAt = (awayMs: number, given: WorldGiven) =>
  createAgentWorld({ ...given, changes: { ids: idsAt(START + awayMs) } });
const using = (total: number, script: Script): Script =>
  async function* (request, signal) {
    for await (const event of script(request, signal))
      yield event.kind === 'finished' ? { ...event, tokens: { ...event.tokens, total } } : event;
  };
const promptTexts = (messages: readonly ModelMessage[] = []): readonly string[] =>
  messages.map((outputText) => {
    if (outputText.role === 'user')
      return outputText.content.map((piece) => (piece.kind === 'text' ? piece.text : 'file')).join();
    return outputText.role === 'assistant' ? `<${outputText.text}>` : '[result]';
  });
const SUMMED = 'What happened before, in short:\nSUMMARY';

describe('messages', (check) => {
  check('stand in the order in which they came when a clock was set back over a restart', async () => {
    const store = freshStore();
    const first = await serverAt(0, { store, scripts: [replying('one')] });
    const id = await first.session();
    await ask(first, id, 'first');
    await ask(await serverAt(-HOUR_MS, { store, scripts: [replying('two')] }), id, 'second');
    const third = await serverAt(-HOUR_MS / 2, { store, scripts: [replying('three')] });
    await ask(third, id, 'third');
    assert.equal(promptTexts(third.asked[0]?.messages), ['first', '<one>', 'second', '<two>', 'third']);
    const [newest] = (await third.get(`/session/${id}/message?limit=1`)) as Awaited<ReturnType<typeof messagesOf>>;
    assert.is(newest === undefined ? '' : textOf(newest), 'three');
  });

  check('are all reported when a clock was set back over a restart after a summary', async () => {
    const store = freshStore();
    const resolvedModel = { usableTokens: 500 };
    const before = await serverAt(0, {
      store,
      resolvedModel,
      scripts: [using(1000, replying('one')), replying('SUMMARY'), replying('two')],
    });
    const id = await before.session();
    for (const text of ['first', 'second']) await ask(before, id, text);
    const after = await serverAt(-HOUR_MS, {
      store,
      resolvedModel,
      tools: [toolNamed('look')],
      scripts: [calling({ name: 'look', input: {} }), replying('done')],
    });
    await ask(after, id, 'third');
    assert.equal(promptTexts(after.asked.at(-1)?.messages), [SUMMED, '<two>', 'third', '<>', '[result]']);
  });

  check('are all reported after a summary, also to a session with a client whose clock is ahead', async () => {
    const world = await createAgentWorld({
      resolvedModel: { usableTokens: 500 },
      scripts: [
        using(1000, replying('one')),
        replying('SUMMARY'),
        replying('two'),
        replying('three'),
        replying('four'),
      ],
    });
    const id = await world.session();
    await ask(world, id, 'first');
    const messageID = idsAt(world.clock.now() + HOUR_MS)('message');
    await ask(world, id, 'second', { messageID });
    for (const text of ['third: remember 42', 'fourth']) await ask(world, id, text);
    const reported = [SUMMED, '<two>', 'third: remember 42', '<three>', 'fourth'];
    assert.equal(promptTexts(world.asked.at(-1)?.messages), reported);
    const kept = (await messagesOf(world, id)).map(textOf).filter((text) => text !== '');
    assert.equal(kept, ['first', 'one', 'second', 'two', 'SUMMARY', 'third: remember 42', 'three', 'fourth', 'four']);
  });

  check('of a session move nothing in another one ahead', async () => {
    const world = await createAgentWorld();
    const [ahead, other] = [await world.session(), await world.session()];
    await ask(world, ahead, 'hi', { messageID: idsAt(world.clock.now() + HOUR_MS)('message') });
    await ask(world, other, 'hi');
    await world.clock.advance(1000);
    const messageID = idsAt(world.clock.now())('message');
    assert.is((await ask(world, other, 'again', { messageID })).info.parentID, messageID);
  });

  check('whose ids are ahead of the clock lose no question of theirs when the server is killed', async () => {
    const store = freshStore();
    const world = await createAgentWorld({
      store,
      rules: [{ permission: '*', pattern: '*', action: 'ask' }],
      tools: [toolNamed('pay')],
      scripts: [calling({ name: 'pay', input: {} })],
    });
    const id = await world.session();
    void ask(world, id, 'pay', { messageID: idsAt(world.clock.now() + HOUR_MS)('message') });
    await until(world, async () => (await eventsOf(world, 'permission.asked')).length === 1);
    const next = await createAgentWorld({ store });
    assert.is((await eventsOf(next, 'permission.replied'))[0]?.properties.reply, 'reject');
  });
});
