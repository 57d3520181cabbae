import * as assert from 'uvu/assert';
import type { Session } from '../../../src/agent/protocol/types.ts';
import { answer, text } from '../../../src/demo/model/reply.ts';
import type { ReceivedRequest } from '../../../src/demo/model/request.ts';
import { describe } from '../../check.ts';
import {
  type AgentWorld,
  inAgentWorld,
  isNoTitle,
  isTitle,
  messagesOf,
  newSession,
  prompt,
  promptTexts,
  type ReceivedAnswer,
  textPrompt,
  until,
} from './world.ts';

const lastLines = ({ turns }: ReceivedRequest): string => {
  const last = turns.findLast(({ role }) => role === 'user');
  return last?.role === 'user' ? last.text : '';
};

/** To each prompt its own answer, so that a mix-up shows. */
const answerEach = ({ model }: AgentWorld, prompts: readonly string[]): void => {
  model.alwaysReply('A title', isTitle);
  for (const words of prompts) {
    const pieces = [...text('You said '), { kind: 'wait' as const, ms: 3 }, ...text(words, '.')];
    model.alwaysReply(answer(pieces), (asked) => isNoTitle(asked) && lastLines(asked) === words);
  }
};
const numbered = (count: number, what: string) => Array.from({ length: count }, (_, index) => `${what} ${index}`);

describe('the agent bundle under many prompts', (check) => {
  check(
    'to one session answers each with its own answer, one after the other',
    inAgentWorld(async (world) => {
      const prompts = numbered(10, 'prompt');
      answerEach(world, prompts);
      const agent = await world.start();
      const { id } = await newSession(agent);
      const answers = await Promise.all(prompts.map((words) => prompt(agent, id, words)));
      for (const [index, { info, parts }] of answers.entries()) {
        assert.is(promptTexts(parts), `You said ${prompts[index]}.`);
        assert.is(info.finish, 'stop');
      }
      const messages = await messagesOf(agent, id);
      assert.is(messages.length, 20);
      const byId = new Map(messages.map((message) => [message.info.id, message]));
      for (const { info, parts } of answers) {
        const asked = byId.get(info.parentID);
        assert.is(`You said ${promptTexts(asked?.parts ?? [])}.`, promptTexts(parts));
      }
      // One at a time: none begins before the one before it has ended.
      const spans = answers.map(({ info }) => info.time).sort((left, right) => left.created - right.created);
      for (const [index, { created }] of spans.entries())
        assert.ok(
          index === 0 || created >= (spans[index - 1]?.completed ?? Number.POSITIVE_INFINITY),
          `answer ${index}`,
        );
      assert.equal((await agent.ask('GET', '/session/status')).json, {});
    }),
  );

  check(
    'to twenty sessions answers all of them side by side, and reports each event once',
    inAgentWorld(async (world) => {
      const prompts = numbered(20, 'session');
      answerEach(world, prompts);
      const agent = await world.start();
      const events = await agent.listen();
      const startedAt = performance.now();
      const answers = await Promise.all(
        prompts.map(async (words) => {
          const { id } = await newSession(agent, {});
          const first = await prompt(agent, id, words);
          assert.is(first.info.sessionID, id);
          return promptTexts(first.parts);
        }),
      );
      const tookMs = performance.now() - startedAt;
      assert.equal(
        answers,
        prompts.map((words) => `You said ${words}.`),
      );
      console.log(`20 sessions in ${Math.round(tookMs)} ms`);
      assert.ok(tookMs < 15_000);
      await until('all are idle', () => events.seen().filter(({ type }) => type === 'session.idle').length === 20);
      const ids = events.seen().flatMap((event) => (event.id === undefined ? [] : [event.id]));
      assert.equal(ids, [...new Set(ids)].sort());
      await until('all have titles', async () => {
        const { json } = await agent.ask<readonly Session[]>('GET', '/session');
        return json.length === 20 && json.every(({ title }) => title === 'A title');
      });
      events.leave();
    }),
  );

  check(
    'goes on with a run whose client has left, and stops it when it is asked to',
    inAgentWorld(async (world) => {
      const { model } = world;
      const agent = await world.start();
      const { id } = await newSession(agent);
      model.addReply(answer([...text('half '), { kind: 'wait', ms: 400 }, ...text('whole')]), isNoTitle);
      const leaving = new AbortController();
      const path = `/session/${id}/message`;
      const asking = agent.send('POST', path, textPrompt('hello'), { signal: leaving.signal }).catch(() => undefined);
      await until('it has begun', async () => promptTexts((await messagesOf(agent, id)).at(1)?.parts ?? []) !== '');
      leaving.abort();
      await (await asking)?.body?.cancel().catch(() => {});
      await until(
        'it is idle',
        async () => Object.keys((await agent.ask<object>('GET', '/session/status')).json).length === 0,
      );
      const [, reported] = await messagesOf(agent, id);
      assert.is(promptTexts(reported?.parts ?? []), 'half whole');
      assert.is(reported?.info.role === 'assistant' && reported.info.finish, 'stop');
      model.addReply(answer([...text('half '), { kind: 'hang' }]), isNoTitle);
      const second = agent.ask<ReceivedAnswer>('POST', path, textPrompt('again'));
      await until('the model is asked', () => model.requests().filter(isNoTitle).length === 2);
      await agent.ask('POST', `/session/${id}/abort`);
      assert.is((await second).json.info.error?.name, 'MessageAbortedError');
      await until('the model hears of it', () => model.requests().filter(isNoTitle).at(-1)?.isAborted() === true);
    }),
  );

  check(
    'and clients that come and go ends none of them, and keeps no stream',
    inAgentWorld(async (world) => {
      const prompts = numbered(5, 'prompt');
      answerEach(world, prompts);
      const agent = await world.start();
      const { id } = await newSession(agent);
      const listeners = await Promise.all(Array.from({ length: 40 }, () => agent.listen()));
      const asking = prompts.map((words) => prompt(agent, id, words));
      for (const [index, listener] of listeners.entries()) if (index % 2 === 0) listener.leave();
      await Promise.all(asking);
      for (const [index, listener] of listeners.entries())
        if (index % 2 === 1) await listener.until('the end', ({ type }) => type === 'session.idle');
      for (const listener of listeners) listener.leave();
      const { code, tookMs } = await agent.signal('SIGTERM');
      assert.is(code, 0);
      assert.ok(tookMs < 5000, `${Math.round(tookMs)} ms`);
      assert.not.match(agent.running.stderr(), '"event":"bug"');
    }),
  );
});
