import * as assert from 'uvu/assert';
import type { ModelRequest } from '../../../src/agent/model/types.ts';
import { describe } from '../../check.ts';
import { openStream } from '../harness/live-stream.ts';
import { answering, byPrompt, dictated, lastTextTo, messagesTo } from '../harness/model-scripts.ts';
import {
  assistant,
  type BridgeWorld,
  begins,
  OTHER_KEY,
  sessionsMade,
  system,
  user,
  withBridge,
} from '../harness/world.ts';

/** Answers every "hi" alike, and everything else with its own words. */
const polite = answering((words) => (words === 'hi' ? 'hello' : `re ${words}`));
const HI = [user('hi'), assistant('hello')];

/** What the model was told when it was asked this. */
const askedFor = ({ agent }: BridgeWorld, words: string): ModelRequest | undefined =>
  agent.asked.findLast((request) => lastTextTo(request) === words);
const onTop = (reported: string, ...words: readonly string[]): void => {
  for (const word of words) assert.match(reported, word);
};

describe('chats with equal words', (check) => {
  check('stay apart, also when one of them goes on', () =>
    withBridge({ scripts: [polite] }, async (world) => {
      const first = await world.chat({ messages: [user('hi')] });
      const gone = await world.chat({ messages: [...HI, user('my secret')] });
      assert.is(gone.name, first.name);
      const second = await world.chat({ messages: [user('hi')] });
      assert.is.not(second.name, first.name);
      const other = await world.chat({ messages: [...HI, user('what did I say?')] });
      assert.is(other.name, second.name);
      assert.not.match(messagesTo(askedFor(world, 'what did I say?')), 'my secret');
      const on = await world.chat({ messages: [...HI, user('my secret'), assistant(gone.text), user('and?')] });
      assert.is(on.name, first.name);
      assert.match(messagesTo(askedFor(world, 'and?')), 'my secret');
      assert.not.match(messagesTo(askedFor(world, 'and?')), 'what did I say');
    }),
  );

  check('are found by their names alone where the operator wants that', () =>
    withBridge({ scripts: [polite], settings: { matching: 'named' } }, async (world) => {
      const first = await world.chat({ messages: [user('hi')] });
      const next = await world.chat({ messages: [...HI, user('mine')] });
      assert.is.not(next.name, first.name);
      // The model reads the history all the same.
      assert.match(messagesTo(askedFor(world, 'mine')), 'hello');
      const named = { 'x-session-id': 'desk' };
      await world.chat({ messages: [user('hi')] }, named);
      assert.is((await world.chat({ messages: [...HI, user('more')] }, named)).name, 'desk');
      assert.is(sessionsMade(world).length, 3);
    }),
  );

  check('that cannot be distinguished from each other are all left alone', () =>
    withBridge({ scripts: [polite] }, async (world) => {
      const names = new Set<string>();
      for (let count = 0; count < 3; count++) names.add((await world.chat({ messages: [user('hi')] })).name);
      assert.is(names.size, 3);
      const next = await world.chat({ messages: [...HI, user('mine')] });
      assert.not.ok(names.has(next.name));
      assert.match(messagesTo(askedFor(world, 'mine')), 'hello');
      const last = await world.chat({ messages: [...HI, user('mine'), assistant(next.text), user('more')] });
      assert.is(last.name, next.name);
      // Three are still alike, so a second one that goes on gets a session of its own, too.
      const other = await world.chat({ messages: [...HI, user('yours')] });
      assert.not.ok(names.has(other.name) || other.name === next.name);
      assert.not.match(messagesTo(askedFor(world, 'yours')), 'mine');
    }),
  );

  check('that begin at once stay apart', () =>
    withBridge({ scripts: [polite] }, async (world) => {
      const begun = await Promise.all(Array.from({ length: 5 }, () => world.chat({ messages: [user('hi')] })));
      assert.is(new Set(begun.map(({ name }) => name)).size, 5);
      assert.ok(world.agent.asked.every(({ messages }) => messages.length === 1));
    }),
  );

  check('stay apart by their names, however alike they are', () =>
    withBridge({ scripts: [polite] }, async (world) => {
      const send = (id: string, messages: Parameters<BridgeWorld['chat']>[0]['messages']) =>
        world.chat({ messages }, { 'x-session-id': id });
      await send('one', [user('hi')]);
      await send('two', [user('hi')]);
      await send('one', [...HI, user('my secret')]);
      const two = await send('two', [...HI, user('what did I say?')]);
      assert.is(two.name, 'two');
      assert.not.match(messagesTo(askedFor(world, 'what did I say?')), 'my secret');
      await send('one', [user('only this')]);
      onTop(messagesTo(askedFor(world, 'only this')), 'my secret', 'hello');
      assert.is(sessionsMade(world).length, 2);
    }),
  );

  check('of two keys are never one conversation, by words or by name', () =>
    withBridge({ scripts: [polite] }, async (world) => {
      const other = { authorization: `Bearer ${OTHER_KEY}` };
      const mine = await world.chat({ messages: [user('hi')] });
      const theirs = await world.chat({ messages: [...HI, user('go on')] }, other);
      assert.is.not(theirs.name, mine.name);
      await world.chat({ messages: [user('my secret')] }, { 'x-session-id': 'desk' });
      await world.chat({ messages: [user('what was it?')] }, { 'x-session-id': 'desk', ...other });
      assert.not.match(messagesTo(askedFor(world, 'what was it?')), 'my secret');
    }),
  );
});

describe('a history', (check) => {
  check('that was edited goes on elsewhere, without what was taken out', () =>
    withBridge({ scripts: [polite] }, async (world) => {
      const first = await world.chat({ messages: [user('hi')] });
      await world.chat({ messages: [...HI, user('taken out')] });
      const edited = await world.chat({ messages: [...HI, user('put in')] });
      assert.is.not(edited.name, first.name);
      const reported = messagesTo(askedFor(world, 'put in'));
      assert.match(reported, 'hello');
      assert.not.match(reported, 'taken out');
      const on = await world.chat({ messages: [...HI, user('put in'), assistant('re put in'), user('on')] });
      assert.is(on.name, edited.name);
      assert.is(sessionsMade(world).length, 2);
    }),
  );

  check('whose last answer is wanted again is answered as if that had never been said', () =>
    withBridge({ scripts: [answering((words, { messages }) => `${words} ${messages.length}`)] }, async (world) => {
      const first = await world.chat({ messages: [user('a')] });
      const messages = [user('a'), assistant(first.text), user('b')];
      const once = await world.chat({ messages });
      const again = await world.chat({ messages });
      assert.is(once.name, first.name);
      assert.is.not(again.name, first.name);
      assert.not.match(messagesTo(world.agent.asked.at(-1)), once.text);
      const kept = [...messages, assistant(again.text), user('c')];
      assert.is((await world.chat({ messages: kept })).name, again.name);
    }),
  );

  check('that was edited under a name leaves the old words behind', () =>
    withBridge({ scripts: [polite] }, async (world) => {
      const id = { 'x-session-id': 'desk' };
      await world.chat({ messages: [user('hi')] }, id);
      await world.chat({ messages: [...HI, user('taken out')] }, id);
      const edited = await world.chat({ messages: [...HI, user('put in')] }, id);
      assert.is(edited.name, 'desk');
      assert.not.match(messagesTo(askedFor(world, 'put in')), 'taken out');
      await world.chat({ messages: [user('and now')] }, id);
      onTop(messagesTo(askedFor(world, 'and now')), 'put in', 'hello');
      assert.not.match(messagesTo(askedFor(world, 'and now')), 'taken out');
    }),
  );

  check('that ends where its reader stopped goes on with what that reader knows', async () => {
    const model = dictated();
    const headers = { 'x-session-id': 'desk' };
    await withBridge({ scripts: [byPrompt({ story: model.script }, polite)] }, async (world) => {
      const stream = await openStream(world, { messages: [user('story')] }, { headers });
      model.addReply('Once upon a time ');
      await stream.until('Once');
      await stream.leave();
      await model.left;
      const messages = [user('story'), assistant('Once upon'), user('go on')];
      assert.is((await world.chat({ messages }, headers)).text, 're go on');
      assert.match(messagesTo(askedFor(world, 'go on')), 'Once upon');
      assert.not.match(messagesTo(askedFor(world, 'go on')), 'a time');
    });
  });

  check('is the same under other instructions, and those are sent each time', () =>
    withBridge({ scripts: [polite] }, async (world) => {
      const first = await world.chat({ messages: [system('Speak like a pirate'), user('hi')] });
      const second = await world.chat({ messages: [system('Speak like a judge'), ...HI, user('and?')] });
      assert.is(second.name, first.name);
      assert.match(world.agent.asked[0]?.system ?? '', 'pirate');
      assert.match(world.agent.asked[1]?.system ?? '', 'judge');
      assert.is(world.agent.asked[1]?.system.includes('pirate'), false);
      assert.equal(
        begins(world).map(({ body }) => (body as { system: string }).system),
        ['Speak like a pirate', 'Speak like a judge'],
      );
    }),
  );

  check('that no session has received is sent once', () =>
    withBridge({ scripts: [polite] }, async (world) => {
      const messages = [user('from elsewhere'), assistant('I see'), user('one')];
      const first = await world.chat({ messages });
      onTop(messagesTo(askedFor(world, 'one')), 'from elsewhere', 'I see');
      const second = await world.chat({ messages: [...messages, assistant(first.text), user('two')] });
      assert.is(second.name, first.name);
      assert.is(sessionsMade(world).length, 1);
    }),
  );
});
