import * as assert from 'uvu/assert';
import type { ModelRequest } from '../../../../src/agent/model/types.ts';
import { failing, hanging, replying, type Script } from '../../../agent/harness/world.ts';
import { describe } from '../../../check.ts';
import {
  assistant,
  begun,
  readUntilPause,
  refusalOf,
  requestWith,
  untilSo,
  untilThinking,
  user,
  withTurns,
} from './world.ts';

const FIRST = [user('first'), assistant('hello')];
const SECOND = [...FIRST, user('second'), assistant('hello')];

/** What the model was told, by role. */
const told = ({ messages }: ModelRequest): string => JSON.stringify(messages);

describe('turns at an OpenCode server: conversations', (check) => {
  check('a name leads to the same session, and another one to another', () =>
    withTurns({}, async ({ ask }) => {
      const first = await ask({ conversation: { name: 'chat' } });
      const second = await ask({ conversation: { name: 'chat' } });
      const other = await ask({ conversation: { name: 'other' } });
      assert.is(second.turn.sessionID, first.turn.sessionID);
      assert.is(second.turn.conversationName, 'chat');
      assert.is.not(other.turn.sessionID, first.turn.sessionID);
    }),
  );

  check('a history leads to the session that it ended with', () =>
    withTurns({}, async ({ ask, agent }) => {
      const first = await ask({ input: [user('first')] });
      const second = await ask({ history: FIRST, input: [user('second')] });
      assert.is(second.turn.sessionID, first.turn.sessionID);
      const third = await ask({ history: SECOND, input: [user('third')] });
      assert.is(third.turn.sessionID, first.turn.sessionID);
      assert.is(third.turn.conversationID, first.turn.conversationID);
      assert.is(agent.asked.at(-1)?.messages.length, 5);
    }),
  );

  check('an edited message is answered in a copy of the session up to there', () =>
    withTurns({}, async ({ ask, agent }) => {
      const first = await ask({ input: [user('first')] });
      await ask({ history: FIRST, input: [user('second')] });
      const edited = await ask({ history: FIRST, input: [user('changed')] });
      assert.is.not(edited.turn.sessionID, first.turn.sessionID);
      const last = agent.asked.at(-1);
      assert.is(last?.messages.length, 3);
      assert.match(told(last!), /changed/);
      assert.not.match(told(last!), /second/);
    }),
  );

  check('a history that nobody knows goes into the prompt as a transcript', () =>
    withTurns({}, async ({ ask, agent }) => {
      const history = [
        user('what is the weather?'),
        { role: 'assistant', calls: [{ id: 'c1', name: 'weather', arguments: '{"in":"Rome"}' }] } as const,
        { role: 'tool', callID: 'c1', output: 'sunny' } as const,
        assistant('It is sunny.'),
      ];
      const { turn } = await ask({ history, input: [user('and tomorrow?')] });
      const words = told(agent.asked[0]!);
      for (const word of ['what is the weather', 'called weather with', 'returned', 'sunny', 'and tomorrow'])
        assert.ok(words.includes(word), word);
      const next = [...history, user('and tomorrow?'), assistant('hello')];
      const second = await ask({ history: next, input: [user('and then?')] });
      assert.is(second.turn.sessionID, turn.sessionID);
    }),
  );

  check('results at the end of a history are told in words', () =>
    withTurns({}, async ({ ask, agent }) => {
      const calls = [{ id: 'c1', name: 'weather', arguments: '{}' }];
      const history = [user('weather?'), { role: 'assistant', calls } as const];
      await ask({ history, input: [{ role: 'tool', callID: 'c1', output: 'sunny' }] });
      assert.match(told(agent.asked[0]!), /\[weather returned\]/);
    }),
  );

  check('two equal chats stay two', () =>
    withTurns({}, async ({ ask }) => {
      const [first, second] = [await ask({ input: [user('first')] }), await ask({ input: [user('first')] })];
      const third = await ask({ history: FIRST, input: [user('second')] });
      assert.not.ok([first.turn.sessionID, second.turn.sessionID].includes(third.turn.sessionID));
    }),
  );

  check('the history of another owner leads nowhere', () =>
    withTurns({}, async ({ ask, by }) => {
      const first = await ask({ input: [user('first')] });
      const other = await ask({ history: FIRST, input: [user('second')] }, { ...by, owner: 'another' });
      assert.is.not(other.turn.sessionID, first.turn.sessionID);
    }),
  );

  check('a named conversation moves to a copy where its history was changed, and is compared from there', () =>
    withTurns({}, async ({ ask }) => {
      const conversation = { name: 'chat' };
      const first = await ask({ conversation, isCompared: true, input: [user('first')] });
      const second = await ask({ conversation, history: FIRST, input: [user('second')] });
      assert.is(second.turn.sessionID, first.turn.sessionID);
      const edited = await ask({ conversation, history: FIRST, input: [user('other')] });
      assert.is.not(edited.turn.sessionID, first.turn.sessionID);
      assert.is(edited.turn.conversationID, first.turn.conversationID);
      const third = await ask({ conversation, history: [...FIRST, user('other'), assistant('hello')] });
      assert.is(third.turn.sessionID, edited.turn.sessionID);
      const regenerated = await ask({ conversation, isCompared: true, input: [user('first')] });
      assert.is.not(regenerated.turn.sessionID, edited.turn.sessionID);
    }),
  );

  check('after its last turn a conversation goes on, after an earlier one in a branch', () =>
    withTurns({}, async ({ ask, agent }) => {
      const first = await ask({ input: [user('first')] });
      const second = await ask({ conversation: { after: first.turn.id }, isAppended: true, input: [user('second')] });
      assert.is(second.turn.sessionID, first.turn.sessionID);
      const branch = await ask({ conversation: { after: first.turn.id }, isAppended: true, input: [user('branch')] });
      assert.is.not(branch.turn.conversationID, first.turn.conversationID);
      assert.not.match(told(agent.asked.at(-1)!), /second/);
      assert.match(told(agent.asked.at(-1)!), /first/);
      const history = [...FIRST, user('branch'), assistant('hello')];
      assert.is((await ask({ history })).turn.sessionID, branch.turn.sessionID);
    }),
  );

  check('two prompts of one conversation run one after the other', () => {
    const running: number[] = [];
    let count = 0;
    const script: Script = async function* (request, signal) {
      count += 1;
      running.push(count);
      await new Promise((resolve) => setTimeout(resolve, 20));
      yield* replying('done')(request, signal);
      count -= 1;
    };
    return withTurns({ scripts: [script] }, async ({ ask }) => {
      const conversation = { name: 'chat' };
      const all = await Promise.all([ask({ conversation }), ask({ conversation }), ask({ conversation })]);
      assert.equal(running, [1, 1, 1]);
      assert.is(new Set(all.map(({ turn }) => turn.promptID)).size, 3);
      assert.equal(
        all.map(({ text }) => text),
        ['done', 'done', 'done'],
      );
    });
  });

  check('after a restart of the bridge a name leads to its session again, and an id as well', () =>
    withTurns({}, async ({ ask, restart, by, agent }) => {
      const first = await ask({ conversation: { name: 'chat' }, input: [user('first')] });
      const turns = restart();
      const conversation = { name: 'chat' };
      const next = begun(await turns.begin(requestWith({ conversation, history: FIRST, input: [user('second')] }), by));
      assert.is(next.turn.sessionID, first.turn.sessionID);
      assert.is(next.turn.conversationID, first.turn.conversationID);
      await readUntilPause(next.events);
      assert.is(agent.asked.at(-1)?.messages.length, 3);
      assert.is(await refusalOf(turns.view(first.turn.id, by)), 'turn_not_found');
      assert.is((await turns.conversations.find({ id: first.turn.conversationID }, by)).name, 'chat');
      assert.is(
        await refusalOf(turns.conversations.find({ name: 'chat' }, { ...by, owner: 'another' })),
        'conversation_not_found',
      );
    }),
  );

  check('a session that the agent has lost is replaced', () =>
    withTurns({}, async ({ ask, agent }) => {
      const conversation = { name: 'chat' };
      const first = await ask({ conversation, input: [user('first')] });
      await agent.call('DELETE', `/session/${first.turn.sessionID}`);
      const second = await ask({ conversation, history: FIRST, input: [user('second')] });
      assert.is(second.turn.status, 'completed');
      assert.is.not(second.turn.sessionID, first.turn.sessionID);
      assert.match(told(agent.asked.at(-1)!), /first/);
    }),
  );

  check('an answer that failed is not a history that is known', () =>
    withTurns({ scripts: [failing(new Error('broken')), replying('hello')] }, async ({ ask }) => {
      const first = await ask({ conversation: { name: 'chat' }, isCompared: true, input: [user('first')] });
      assert.is(first.turn.status, 'failed');
      const second = await ask({ conversation: { name: 'chat' }, isCompared: true, input: [user('first')] });
      assert.is(second.text, 'hello');
      assert.is.not(second.turn.sessionID, first.turn.sessionID);
    }),
  );

  check('a turn is deleted with its session, not while it runs', () =>
    withTurns({ scripts: [replying('hello'), hanging] }, async ({ ask, begin, turns, by, agent }) => {
      const { turn } = await ask();
      const other = begun(await begin());
      await untilThinking({ turns, by }, other.turn.id);
      assert.is(await refusalOf(turns.delete(other.turn.id, by)), 'turn_running');
      await turns.delete(turn.id, by);
      assert.is((await agent.call('GET', `/session/${turn.sessionID}`)).status, 404);
    }),
  );
});

describe('turns at an OpenCode server: conversations as objects', (check) => {
  check('one is created, read, changed and deleted', () =>
    withTurns({}, async ({ turns, by, agent }) => {
      const { conversations } = turns;
      const given = { metadata: { topic: 'a' }, messages: [user('to know')] };
      const made = await conversations.create(given, by);
      assert.equal((await conversations.setMetadata(made.id, { topic: 'b' }, by)).metadata, { topic: 'b' });
      assert.equal((await conversations.find({ id: made.id }, by)).metadata, { topic: 'b' });
      await conversations.delete(made.id, by);
      assert.is(await refusalOf(conversations.find({ id: made.id }, by)), 'conversation_not_found');
      assert.is((await agent.call('GET', `/session/${made.sessionID}`)).status, 404);
    }),
  );

  check('its messages are read in pages, added and deleted', () =>
    withTurns({}, async ({ turns, by, ask }) => {
      const { conversations } = turns;
      const { id } = await conversations.create({ metadata: {}, messages: [user('one')] }, by);
      await ask({ conversation: { id }, isAppended: true, input: [user('two')] });
      const [added] = await conversations.append(id, [user('three')], by);
      const all = await conversations.messages(id, { limit: 10, order: 'asc' }, by);
      assert.equal(
        all.map(({ info }) => info.role),
        ['user', 'user', 'assistant', 'user'],
      );
      const after = all[1]?.info.id;
      assert.is((await conversations.messages(id, { limit: 1, order: 'asc', after }, by))[0]?.info.id, all[2]?.info.id);
      assert.is((await conversations.messages(id, { limit: 1, order: 'desc' }, by))[0]?.info.id, added?.info.id);
      assert.is(await refusalOf(conversations.deleteMessage(id, all[1]!.info.id, by)), 'not_added');
      await conversations.deleteMessage(id, added!.info.id, by);
      assert.is((await conversations.messages(id, { limit: 10, order: 'asc' }, by)).length, 3);
      assert.is(await refusalOf(conversations.append(id, [assistant('no')], by)), 'unsupported');
    }),
  );

  check('nothing is added while a turn runs, and deleting one ends its turn', () =>
    withTurns({ scripts: [hanging] }, async ({ turns, by, begin }) => {
      const { conversations } = turns;
      const { id } = await conversations.create({ metadata: {}, messages: [] }, by);
      const { turn, events } = begun(await begin({ conversation: { id } }));
      await untilThinking({ turns, by }, turn.id);
      assert.is(await refusalOf(conversations.append(id, [user('no')], by)), 'conversation_busy');
      const reading = readUntilPause(events);
      await conversations.delete(id, by);
      assert.is((await reading).turn?.status, 'aborted');
    }),
  );

  check('one is found after a restart, with its metadata', () =>
    withTurns({}, async ({ turns, by, restart }) => {
      const made = await turns.conversations.create({ metadata: { topic: 'a' }, messages: [] }, by);
      const found = await restart().conversations.find({ id: made.id }, by);
      assert.equal(found.metadata, { topic: 'a' });
      assert.is(found.sessionID, made.sessionID);
    }),
  );

  check('it stays when its last turn is deleted', () =>
    withTurns({}, async ({ turns, by, ask }) => {
      const { id } = await turns.conversations.create({ metadata: {}, messages: [] }, by);
      const { turn } = await ask({ conversation: { id } });
      await turns.delete(turn.id, by);
      await untilSo(async () => (await turns.conversations.find({ id }, by)).id === id);
    }),
  );
});
