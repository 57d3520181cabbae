import OpenAI, { BadRequestError } from 'openai';
import * as assert from 'uvu/assert';
import { answer, calls } from '../../../src/demo/model/reply.ts';
import type { ReceivedRequest } from '../../../src/demo/model/request.ts';
import { describe, rejection } from '../../check.ts';
import { isNoTitle, nextQuestion, until } from '../agent/world.ts';
import { approvalIn, asked, newText, scriptTool, sessionsOf } from './clients.ts';
import { BRIDGE_KEY, type BridgeProcess, type BridgeWorld, OTHER_BRIDGE_KEY, sharedBridgeWorld } from './world.ts';

const MODEL = 'demo/main';
const beside = sharedBridgeWorld();

type Message = OpenAI.Chat.Completions.ChatCompletionMessageParam;
type SendMore = {
  readonly at?: BridgeProcess;
  readonly headers?: Readonly<Record<string, string>>;
  readonly key?: string;
};

/** A chat whose client sends all of it each time. */
const chatIn = ({ bridge }: Pick<BridgeWorld, 'bridge'>) => {
  const messages: Message[] = [];
  return {
    messages,
    async sendText(words: string, { at = bridge, headers = {}, key = BRIDGE_KEY }: SendMore = {}): Promise<string> {
      messages.push({ role: 'user', content: words });
      const openai = new OpenAI({ baseURL: at.baseURL, apiKey: key });
      const { choices } = await openai.chat.completions.create({ model: MODEL, messages }, { headers });
      const content = choices[0]?.message.content ?? '';
      messages.push({ role: 'assistant', content });
      return content;
    },
  };
};

const turnsOf = ({ turns }: ReceivedRequest): readonly string[] => turns.map((turn) => turn.text);
const lastResult = (world: BridgeWorld): string => JSON.stringify(asked(world).at(-1)?.turns.at(-1));

describe('a question of the agent in a chat', (check) => {
  check(
    'is answered with no, and the model learns why',
    beside(async (world) => {
      scriptTool(world, 'tools_noise');
      const { sendText } = chatIn(world);
      const approval = approvalIn(await sendText(newText()));
      await sendText(`${approval.replace('approve', 'reject')} because Bob has to be asked first`);
      assert.match(lastResult(world), 'Bob has to be asked first');
      assert.not.match(lastResult(world), 'quiet');
    }),
  );

  check(
    'holds nothing up once it is answered',
    beside(async (world) => {
      const took: number[] = [];
      for (let count = 0; count < 3; count++) {
        world.model.clear();
        scriptTool(world, 'tools_noise');
        const { sendText } = chatIn(world);
        const approval = approvalIn(await sendText(newText()));
        const startedAt = performance.now();
        assert.is(await sendText(approval), 'It is five.');
        took.push(performance.now() - startedAt);
      }
      // The quickest: this machine may be busy. An agent that has to be looked after is looked at once a second.
      assert.ok(Math.min(...took) < 900, took.map(Math.round).join(' '));
    }),
  );

  check(
    'is answered by a header, and reported by one',
    beside(async (world) => {
      const openai = new OpenAI({ baseURL: world.bridge.baseURL, apiKey: BRIDGE_KEY });
      const headers = { 'x-session-id': newText() };
      const asking = { model: MODEL, messages: [{ role: 'user' as const, content: 'please' }] };
      for (const [verdict, result] of [
        ['approve', 'quiet'],
        ['reject', 'not today'],
      ] as const) {
        world.model.clear();
        scriptTool(world, 'tools_noise');
        const { response } = await openai.chat.completions.create(asking, { headers }).withResponse();
        const id = response.headers.get('x-approval-id') ?? '';
        assert.match(id, /^per_/);
        const broken = openai.chat.completions.create(asking, { headers: { ...headers, 'x-approval': 'perhaps' } });
        assert.instance(await rejection(broken), BadRequestError);
        const words = verdict === 'approve' ? '' : ' not today';
        const answered = { ...headers, 'x-approval': `${verdict} ${id}${words}` };
        const { choices } = await openai.chat.completions.create(asking, { headers: answered });
        assert.is(choices[0]?.message.content, 'It is five.');
        assert.match(lastResult(world), result);
      }
    }),
  );

  check(
    'is not answered by what only sounds like an answer, nor by another chat or another key',
    beside(async (world) => {
      scriptTool(world, 'tools_noise');
      const chat = chatIn(world);
      const question = await chat.sendText(newText());
      const approval = approvalIn(question);
      assert.match(await chat.sendText('yes, go ahead'), /approve \w+/);
      world.model.addReply('What do you mean?', isNoTitle);
      await chatIn(world).sendText(approval);
      const unknownName = chatIn(world);
      unknownName.messages.push(...chat.messages.slice(0, 2));
      world.model.addReply('What do you mean?', isNoTitle);
      await unknownName.sendText(approval, { key: OTHER_BRIDGE_KEY }).catch(() => {});
      assert.ok((await nextQuestion(world.agent)).id.endsWith(approval.slice('approve '.length)));
      assert.is(await chat.sendText(approval), 'It is five.');
    }),
  );

  check(
    'is forgotten when something else is said instead, and nothing is run',
    beside(async (world) => {
      scriptTool(world, 'tools_noise');
      const { sendText } = chatIn(world);
      await sendText(newText());
      world.model.clear();
      world.model.addReply('As you like.', isNoTitle);
      const other = newText();
      assert.is(await sendText(other), 'As you like.');
      assert.equal((await world.agent.ask('GET', '/permission')).json, []);
      assert.is(turnsOf(asked(world)[0] as ReceivedRequest).at(-1), other);
      assert.not.match(JSON.stringify(asked(world)), 'quiet');
    }),
  );

  check(
    'may come from an agent that the asked one has handed work to',
    beside(async (world) => {
      const { model } = world;
      const job = newText();
      const isHelper = ({ turns }: ReceivedRequest) => turns[0]?.text === job;
      const hand = { description: 'Do it', prompt: job, subagent_type: 'helper' };
      model.addReply(answer(calls({ name: 'task', arguments: hand })), (one) => isNoTitle(one) && !isHelper(one));
      model.addReply(answer(calls({ name: 'tools_noise', arguments: {} })), isHelper);
      model.addReply('The helper is done.', isHelper);
      model.addReply('All is done.', (one) => isNoTitle(one) && !isHelper(one));
      const { sendText } = chatIn(world);
      const question = await sendText(newText());
      assert.match(question, 'The agent asks for approval: tools_noise');
      assert.is(await sendText(approvalIn(question)), 'All is done.');
      assert.match(lastResult(world), 'The helper is done.');
    }),
  );

  check(
    'is answered by the bridge itself where no one is to be asked',
    beside(async (world) => {
      const strict = await world.startBridge({ BRIDGE_APPROVALS: 'reject' });
      scriptTool(world, 'tools_noise');
      assert.is(await chatIn(world).sendText(newText(), { at: strict }), 'I look.\n\nIt is five.');
      assert.match(lastResult(world), 'Nobody can be asked for approval here');
      await strict.running.kill();
    }),
  );
});

describe('a chat', (check) => {
  check(
    'goes on in its session after the bridge was started anew, also with a question open',
    beside(async (world) => {
      const { model } = world;
      const { sendText } = chatIn(world);
      const [first, second] = [newText(), newText()];
      model.addReply('Good day.', isNoTitle);
      const early = await world.startBridge();
      await sendText(first, { at: early });
      await early.running.kill();
      const before = (await sessionsOf(world)).length;
      const later = await world.startBridge();
      scriptTool(world, 'tools_noise');
      const approval = approvalIn(await sendText(second, { at: later }));
      assert.equal(turnsOf(asked(world)[1] as ReceivedRequest), [first, 'Good day.', second]);
      later.running.signal('SIGTERM');
      assert.is((await later.running.ended).code, 0);
      const last = await world.startBridge();
      assert.is(await sendText(approval, { at: last }), 'It is five.');
      assert.match(lastResult(world), 'quiet');
      assert.is((await sessionsOf(world)).length, before);
      await last.running.kill();
    }),
  );

  check(
    'whose history was changed is sent again in another session, and nothing else is',
    beside(async (world) => {
      world.model.alwaysReply('Good day.', isNoTitle);
      const { sendText, messages } = chatIn(world);
      const [first, second, third] = [newText(), newText(), newText()];
      await sendText(first);
      await sendText(second);
      const before = (await sessionsOf(world)).length;
      messages.splice(0, 2);
      await sendText(third);
      assert.is((await sessionsOf(world)).length, before + 1);
      const collected = turnsOf(asked(world).at(-1) as ReceivedRequest).join('\n');
      assert.match(collected, second);
      assert.not.match(collected, first);
      assert.ok(collected.endsWith(third));
    }),
  );

  check(
    'asked for its title leaves no trace in the agent, and asks the small model',
    beside(async (world) => {
      const before = (await sessionsOf(world)).length;
      world.model.alwaysReply('A title', isNoTitle);
      const task = '### Task:\nGenerate a concise, 3-5 word title with an emoji.\n### Chat History:';
      const title = await chatIn(world).sendText(`${task}\n<chat_history>\nUSER: hello\n</chat_history>`, {
        headers: { 'x-openwebui-chat-id': newText() },
      });
      assert.is(title, 'A title');
      assert.is(asked(world)[0]?.model, 'small');
      await until('its session is gone', async () => (await sessionsOf(world)).length === before);
    }),
  );

  check(
    'receives the system prompt of its client, which may change',
    beside(async (world) => {
      world.model.alwaysReply('Good day.', isNoTitle);
      const { sendText, messages } = chatIn(world);
      const before = (await sessionsOf(world)).length;
      messages.push({ role: 'system', content: 'Be brief today.' });
      await sendText(newText());
      messages[0] = { role: 'system', content: 'Be brief tomorrow.' };
      await sendText(newText());
      const [first, second] = asked(world);
      assert.match(first?.system ?? '', 'Be brief today.');
      assert.match(second?.system ?? '', 'Be brief tomorrow.');
      assert.equal([second?.turns.length, (await sessionsOf(world)).length], [3, before + 1]);
    }),
  );
});
