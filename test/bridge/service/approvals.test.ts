import * as assert from 'uvu/assert';
import type { Script } from '../../agent/harness/world.ts';
import { describe } from '../../check.ts';
import { openStream } from '../harness/live-stream.ts';
import { answerWith, idIn, idsIn, pay, paying, repliesTo, reporting } from '../harness/recharge-world.ts';
import { bridgeCount } from '../harness/round-robin.ts';
import { calls, DESK } from '../harness/story-world.ts';
import {
  aborts,
  assistant,
  type BridgeWorld,
  callsTo,
  prompts,
  quietTime,
  sessionsMade,
  user,
  withBridge,
} from '../harness/world.ts';

const CHAT = { messages: [user('pay five')] };
const NO_SUCH = /no open permission request in this conversation/;

/** Approves everything in a conversation, by way of responses, and returns the answer's text. */
const answerAll = async (world: BridgeWorld, conversation: string): Promise<string> => {
  const response = await world.send('/v1/responses', { input: 'approve all', conversation });
  const { output } = (await response.json()) as { output: { content?: { text: string }[] }[] };
  return output.flatMap(({ content = [] }) => content.map(({ text }) => text)).join('');
};

describe('a question of the agent', (check) => {
  check('ends the answer, with all that a person or a button needs', () => {
    const { given, paid } = paying([pay(5), reporting]);
    return withBridge(given, async (world) => {
      const reply = await world.chat(CHAT);
      assert.match(reply.text, 'The agent asks for approval: pay\n```text\n{"amount":5}\n```\nReply "approve ');
      assert.is(reply.json.choices[0]?.finish_reason, 'stop');
      const [approval] = reply.json.gatehouse?.approvals ?? [];
      assert.is(approval?.tool, 'pay');
      assert.is(reply.headers.get('x-approval-id'), approval?.id);
      assert.ok(approval?.id.endsWith(idIn(reply.text)));
      assert.equal(paid, []);
      const stream = await openStream(world, CHAT);
      assert.match(await stream.rest(), 'What now?');
    });
  });

  check('is in the last chunk of a stream, too', () =>
    withBridge(paying([pay(5), reporting]).given, async (world) => {
      const stream = await openStream(world, CHAT);
      assert.match(await stream.rest(), 'asks for approval');
      await stream.leave();
      assert.match(
        stream.data.at(-2) ?? '',
        /"finish_reason":"stop".*"gatehouse":\{"approvals":\[\{"id":"per_\w+","tool":"pay","input":"\{\\"amount\\":5\}"\}/,
      );
      assert.is(stream.data.at(-1), '[DONE]');
      assert.equal(aborts(world), []);
    }),
  );

  check('is answered by its approval, and the answer goes on with the same run', () => {
    const { given, paid } = paying([pay(5), reporting]);
    return withBridge(given, async (world) => {
      const first = await world.chat(CHAT);
      const second = await answerWith(world, 'pay five', first, `approve ${idIn(first.text)}`);
      assert.equal(paid, [{ amount: 5 }]);
      assert.is(second.text, 'So: paid {"amount":5}');
      assert.is(second.name, first.name);
      assert.equal(repliesTo(world), [{ reply: 'once', by: 'a client of the bridge' }]);
      assert.is(prompts(world).length, 1);
      // A bridge that has seen the run begin need not find out what the session does.
      if (bridgeCount() === 1) assert.equal(callsTo(world, 'GET', /^\/session\/status$/), []);
      // Each answer tells what its own part has cost.
      assert.is((first.json.usage.total_tokens ?? 0) + (second.json.usage.total_tokens ?? 0), 30);
      const third = await world.chat({
        messages: [
          ...CHAT.messages,
          assistant(first.text),
          user(`approve ${idIn(first.text)}`),
          assistant(second.text),
          user('thanks'),
        ],
      });
      assert.is(third.name, first.name);
      assert.is(sessionsMade(world).length, 1);
    });
  });

  for (const [path, role] of [
    ['/v1/chat/completions', 'system'],
    ['/v1/chat/completions', 'developer'],
    ['/v1/responses', 'developer'],
  ] as const)
    check(`is not answered by a ${role} message, which is a prompt: ${path}`, () => {
      const { given, paid } = paying([pay(5), reporting]);
      return withBridge(given, async (world) => {
        const first = await world.chat(CHAT);
        const said = [...CHAT.messages, assistant(first.text), { role, content: `approve ${idIn(first.text)}` }];
        assert.is((await world.send(path, { messages: said, input: said })).status, 200);
        assert.equal(paid, []);
        assert.equal(repliesTo(world), []);
        assert.is(prompts(world).length, 2);
      });
    });

  check('is answered by a rejection, which ends the turn', () => {
    const { given, paid } = paying([pay(5), reporting]);
    return withBridge(given, async (world) => {
      const first = await world.chat(CHAT);
      const second = await answerWith(world, 'pay five', first, `reject ${idIn(first.text)}`);
      assert.equal(paid, []);
      assert.equal(repliesTo(world), [{ reply: 'reject', by: 'a client of the bridge' }]);
      assert.is(second.json.choices[0]?.finish_reason, 'stop');
      assert.is(second.text, `Rejected: pay (${idIn(first.text)}).`);
      assert.is(world.agent.asked.length, 1);
      const words = `reject ${idIn(first.text)}`;
      const messages = [...CHAT.messages, assistant(first.text), user(words), assistant(second.text), user('and now?')];
      assert.is((await world.chat({ messages })).text, 'What now?');
    });
  });

  check('is answered among others by one message, and the answer begins with what was decided', () => {
    const { given, paid } = paying([pay(5, 6), reporting, pay(7, 8), reporting]);
    return withBridge(given, async (world) => {
      const first = await world.chat(CHAT);
      const [one = '', two = ''] = idsIn(first.text);
      const words = `Approve ${one}. Reject ${two}: too much.`;
      const history = [...CHAT.messages, assistant(first.text), user(words)];
      const stream = await openStream(world, { messages: history });
      const text = await stream.rest();
      assert.match(text, `Approved: pay (${one}). Rejected: pay (${two}).\n\nSo: paid {"amount":5}, `);
      assert.equal(paid, [{ amount: 5 }]);
      // The line is a part of the answer by which the conversation is known.
      const next = await world.chat({ messages: [...history, assistant(text), user('and more')] });
      assert.is(next.name, first.name);
      assert.is(idsIn(next.text).length, 2);
      const all = await answerAll(world, next.name);
      assert.match(all, /^Approved: pay \(\w{6}\), pay \(\w{6}\)\.\n\nSo: paid/);
      assert.equal(paid, [{ amount: 5 }, { amount: 7 }, { amount: 8 }]);
      assert.is(sessionsMade(world).length, 1);
    });
  });

  check('is not given up for a message that names it and is not understood', () => {
    const { given, paid } = paying([pay(5), reporting]);
    return withBridge(given, async (world) => {
      const first = await world.chat(CHAT);
      const id = idIn(first.text);
      const second = await answerWith(world, 'pay five', first, `what does ${id} cost?`);
      assert.is(idIn(second.text), id);
      assert.equal([paid, repliesTo(world), aborts(world), prompts(world).length], [[], [], [], 1]);
      const messages = [
        ...[...CHAT.messages, assistant(first.text), user(`what does ${id} cost?`)],
        ...[assistant(second.text), user(`/approve \`${id}\`, thanks!`)],
      ];
      assert.is((await world.chat({ messages })).text, 'So: paid {"amount":5}');
    });
  });

  check('is answered by a rejection with a reason, which the model receives', () => {
    const { given, paid } = paying([pay(5), reporting]);
    return withBridge(given, async (world) => {
      const first = await world.chat(CHAT);
      const second = await answerWith(world, 'pay five', first, `reject ${idIn(first.text)} that is too much`);
      assert.equal(paid, []);
      assert.match(second.text, 'that is too much');
    });
  });

  check('is asked again of who says yes to nothing in particular', () => {
    const { given, paid } = paying([pay(5), reporting]);
    return withBridge(given, async (world) => {
      const desk = { 'x-session-id': 'desk' };
      const first = await world.chat(CHAT, desk);
      for (const words of ['yes', 'ok', 'Approved!', 'go ahead', 'approve', 'approve it', 'approve abcdef']) {
        const second = await world.chat({ messages: [user(words)] }, desk);
        assert.is(idIn(second.text), idIn(first.text), words);
        assert.is(second.headers.get('x-approval-id'), first.headers.get('x-approval-id'));
      }
      assert.equal([paid, repliesTo(world), aborts(world)], [[], [], []]);
      assert.is(prompts(world).length, 1);
    });
  });

  check('is given up for another message, which is a new prompt', () => {
    const { given, paid } = paying([pay(5), reporting]);
    return withBridge(given, async (world) => {
      const first = await world.chat(CHAT);
      const second = await answerWith(world, 'pay five', first, 'tell me a joke instead');
      assert.is(second.text, 'What now?');
      assert.is(aborts(world).length, 1);
      assert.is(second.name, first.name);
      const late = await answerWith(world, 'pay five', first, `approve ${idIn(first.text)}`);
      assert.equal([paid, repliesTo(world)], [[], []]);
      assert.not.match(late.text, 'paid');
    });
  });

  check('is not approved by words around its id', () => {
    const { given, paid } = paying([pay(5), reporting]);
    return withBridge(given, async (world) => {
      const first = await world.chat(CHAT);
      await answerWith(world, 'pay five', first, `if it rains approve ${idIn(first.text)}`);
      assert.equal([paid, repliesTo(world)], [[], []]);
    });
  });

  check('is answered by a header, whatever the words', () => {
    const { given, paid } = paying([pay(5), reporting]);
    return withBridge(given, async (world) => {
      const first = await world.chat(CHAT, { 'x-session-id': 'desk' });
      const headers = { 'x-session-id': 'desk', 'x-approval': `approve ${first.headers.get('x-approval-id')}` };
      const second = await world.chat({ messages: [user('(a button was pressed)')] }, headers);
      assert.equal(paid, [{ amount: 5 }]);
      assert.match(second.text, 'So: paid');
      const again = await world.chat({ messages: [user('(again)')] }, headers);
      assert.match(again.text, NO_SUCH);
      assert.is(paid.length, 1);
      assert.is((await world.chat({ messages: [user('hello')] }, { 'x-session-id': 'desk' })).text, 'What now?');
    });
  });

  check('is rejected by a header with a reason', () => {
    const { given, paid } = paying([pay(5), reporting]);
    return withBridge(given, async (world) => {
      const first = await world.chat(CHAT, { 'x-session-id': 'desk' });
      const id = first.headers.get('x-approval-id');
      const headers = { 'x-session-id': 'desk', 'x-approval': `reject ${id} not today` };
      assert.match((await world.chat({ messages: [user('.')] }, headers)).text, 'not today');
      assert.equal(paid, []);
      const odd = await world.send('/v1/chat/completions', CHAT, { 'x-approval': 'maybe' });
      assert.is(odd.status, 400);
    });
  });

  check('cannot be answered twice at once', () => {
    const { given, paid } = paying([pay(5), reporting]);
    return withBridge(given, async (world) => {
      const first = await world.chat(CHAT, { 'x-session-id': 'desk' });
      const words = `approve ${idIn(first.text)}`;
      const answer = () => world.chat({ messages: [user(words)] }, { 'x-session-id': 'desk' });
      const replies = await Promise.all([answer(), answer()]);
      assert.is(replies.filter(({ text }) => text.includes('So: paid')).length, 1);
      assert.equal(paid, [{ amount: 5 }]);
    });
  });

  for (const [how, headers, again] of [
    ['with its key', { 'idempotency-key': 'once' }, { 'idempotency-key': 'once' }],
    ['marked as a retry', {}, { 'x-stainless-retry-count': '1' }],
    ['not marked', {}, {}],
  ] as const)
    check(`is answered once where the decision is sent again while the run goes on, ${how}`, () => {
      const begun = Promise.withResolvers<void>();
      const ending = Promise.withResolvers<void>();
      const slowly: Script = async function* (request, signal) {
        begun.resolve();
        await ending.promise;
        yield* reporting(request, signal);
      };
      const settings = { onDisconnect: { kind: 'grace', ms: 5000 } } as const;
      return withBridge({ ...paying([pay(5), slowly]).given, settings }, async (world) => {
        const first = await world.chat(CHAT, DESK);
        const body = { messages: [user(`approve ${idIn(first.text)}`)] };
        const left = calls(world, '/v1/chat/completions', body, { ...DESK, ...headers });
        await begun.promise;
        left.leave();
        await left.answered;
        await quietTime(30);
        const retry = world.chat(body, { ...DESK, ...again });
        await quietTime(30);
        ending.resolve();
        assert.is((await retry).text, 'So: paid {"amount":5}');
        assert.equal([repliesTo(world).length, prompts(world).length, aborts(world).length], [1, 1, 0]);
      });
    });
});
