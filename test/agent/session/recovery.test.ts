import * as assert from 'uvu/assert';
import type { EventDraft } from '../../../src/agent/protocol/events.ts';
import { createIds } from '../../../src/agent/protocol/ids.ts';
import type { Part } from '../../../src/agent/protocol/types.ts';

import type { Store } from '../../../src/agent/store/store.ts';
import { describe } from '../../check.ts';
import { createFakeClock } from '../../fake-clock.ts';
import { ask, callsOf, eventsOf, isQuiet, messagesOf, outputOf, textOf } from '../harness/permission-requests.ts';
import { createAgentWorld, replying } from '../harness/world.ts';
import { createMemoryStore } from '../store/memory-store.ts';
import { answer, permissionRequest, sessionOf, userMessage } from '../store/samples.ts';

const SESSION = 'ses_000000000000aaaaaaaaaaaaaa';
const ASKED = 'msg_000000000001aaaaaaaaaaaaaa';
const BEGUN = 'msg_000000000002aaaaaaaaaaaaaa';
const partID = (place: number): string => `prt_00000000000${place}aaaaaaaaaaaaaa`;

/** What a process leaves behind that was killed in the middle of a step. */
const leftBehind = async (parts: readonly Part[]): Promise<Store> => {
  const ids = createIds(createFakeClock(), (count) => crypto.getRandomValues(new Uint8Array(count)));
  const store = createMemoryStore({ ids });
  const session = sessionOf(SESSION, { directory: '/old' });
  const model = { providerID: 'demo', modelID: 'main' };
  const user = { ...userMessage(ASKED, SESSION), model };
  const text: Part = { id: partID(1), sessionID: SESSION, messageID: ASKED, type: 'text', text: 'asked before' };
  const begun = answer(BEGUN, SESSION, { parentID: ASKED, time: { created: 2 }, ...model });
  const kept = [text, ...parts].map((part) => ({ kind: 'part' as const, part }));
  const [first, ...others] = kept;
  if (first === undefined) throw new Error('no part');
  await store.commit(
    [
      { kind: 'session', session },
      { kind: 'message', message: user },
      { kind: 'message', message: begun },
      first,
      ...others,
    ],
    [],
  );
  return store;
};
const placed = (place: number) => ({ id: partID(place), sessionID: SESSION, messageID: BEGUN });
const call = (place: number, state: Extract<Part, { type: 'tool' }>['state']): Part => ({
  ...placed(place),
  type: 'tool',
  callID: `call-${place}`,
  tool: 'pay',
  state,
});

describe('a server that starts after another was killed', (check) => {
  const PARTS: readonly Part[] = [
    { ...placed(2), type: 'step-start' },
    { ...placed(3), type: 'text', text: 'I will', time: { start: 5 } },
    call(4, { status: 'completed', input: {}, output: 'paid', title: '', metadata: {}, time: { start: 5, end: 6 } }),
    call(5, { status: 'running', input: { amount: 1 }, time: { start: 7 } }),
    call(6, { status: 'pending', input: {}, raw: '' }),
  ];

  check('ends what was unfinished, and says why', async () => {
    const world = await createAgentWorld({ store: await leftBehind(PARTS) });
    assert.ok(await isQuiet(world));
    const [, begun] = await messagesOf(world, SESSION);
    assert.equal(begun?.info.role === 'assistant' && [begun.info.error, begun.info.time], [
      { name: 'MessageAbortedError', data: { message: 'The agent server stopped before this answer was complete' } },
      { created: 2, completed: world.clock.now() },
    ]);
    const [, text] = begun?.parts ?? [];
    assert.equal(text?.type === 'text' && text.time, { start: 5, end: world.clock.now() });
    const calls = await callsOf(world, SESSION);
    assert.equal(calls.map(outputOf), [
      'paid',
      'The server was stopped while this call was under way; whether it was carried out is not known',
      'The server was stopped before this call was made, so it was not made',
    ]);
    assert.equal(calls[1]?.state.status === 'error' && calls[1].state.time.start, 7);
    assert.ok(world.logged.some((line) => line.includes('unfinished-answers-ended') && line.includes('"count":1')));
    const reported = await world.store.events({ afterID: '', limit: 100 });
    assert.equal(
      reported.map(({ directory, event }) => [directory, event.type]),
      [
        ['/old', 'message.part.updated'],
        ['/old', 'message.part.updated'],
        ['/old', 'message.part.updated'],
        ['/old', 'message.updated'],
        ['/old', 'session.error'],
        ['/old', 'session.status'],
        ['/old', 'session.idle'],
      ],
    );
    const [failed, status] = reported.slice(-3).map(({ event }) => event);
    const error = begun?.info.role === 'assistant' ? begun.info.error : undefined;
    assert.equal(failed?.properties, { sessionID: SESSION, error });
    assert.equal(status?.properties, { sessionID: SESSION, status: { type: 'idle' } });
  });

  check('takes back the questions that no one can answer any more, and no others', async () => {
    const store = await leftBehind(PARTS);
    const asked = (id: string, sessionID = SESSION): EventDraft => ({
      type: 'permission.asked',
      properties: permissionRequest(id, sessionID),
    });
    const answered: EventDraft = {
      type: 'permission.replied',
      properties: { sessionID: SESSION, requestID: 'per_1', reply: 'once' },
    };
    const many = Array.from(
      { length: 250 },
      (): EventDraft => ({
        type: 'session.idle',
        properties: { sessionID: SESSION },
      }),
    );
    const drafts = [asked('per_1'), asked('per_2'), asked('per_3', 'ses_other'), ...many, answered, asked('per_4')];
    await store.commit(
      [],
      drafts.map((draft) => ({ directory: '/old', draft })),
    );
    const world = await createAgentWorld({ store });
    const replies = (await eventsOf(world, 'permission.replied')).slice(1).map(({ properties }) => properties);
    assert.equal(replies, [
      { sessionID: SESSION, requestID: 'per_2', reply: 'reject' },
      { sessionID: SESSION, requestID: 'per_4', reply: 'reject' },
    ]);
  });

  check('says once of a session that it is idle, however much of it was under way', async () => {
    const store = await leftBehind(PARTS);
    const [, begun] = await store.messages(SESSION);
    if (begun?.info.role !== 'assistant') throw new Error('no answer');
    const summary = { ...begun.info, id: 'msg_000000000003aaaaaaaaaaaaaa' };
    await store.commit([{ kind: 'message', message: summary }], []);
    const world = await createAgentWorld({ store });
    assert.is((await eventsOf(world, 'session.idle')).length, 1);
    assert.is((await eventsOf(world, 'session.error')).length, 1);
    assert.is((await eventsOf(world, 'message.updated')).length, 2);
    assert.ok(await isQuiet(world));
  });

  check('answers the next prompt, with a history in which every call has a result', async () => {
    const world = await createAgentWorld({ store: await leftBehind(PARTS), scripts: [replying('back')] });
    assert.is(textOf(await ask(world, SESSION, 'asked now')), 'back');
    assert.equal(
      world.asked[0]?.messages.map(({ role }) => role),
      ['user', 'assistant', 'tool', 'user'],
    );
    const [, outputText, results] = world.asked[0]?.messages ?? [];
    assert.equal(
      outputText?.role === 'assistant' && outputText.calls.map(({ id }) => id),
      results?.role === 'tool' && results.results.map(({ id }) => id),
    );
  });

  check('finds nothing to do the next time', async () => {
    const store = await leftBehind(PARTS);
    await createAgentWorld({ store });
    const before = await store.events({ afterID: '', limit: 100 });
    const again = await createAgentWorld({ store });
    assert.equal(await store.events({ afterID: '', limit: 100 }), before);
    assert.not.ok(again.logged.some((line) => line.includes('unfinished')));
  });
});
