import * as assert from 'uvu/assert';
import type { Session, ToolPart } from '../../../src/agent/protocol/types.ts';
import { answer } from '../../../src/demo/model/reply.ts';
import { describe } from '../../check.ts';
import {
  inAgentWorld,
  isNoTitle,
  messagesOf,
  newSession,
  promptTexts,
  type ReceivedAnswer,
  textPrompt,
  until,
} from './world.ts';

const weather = {
  name: 'weather',
  description: 'The weather of a city',
  inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
};
const calls = answer([{ kind: 'calls', calls: [{ name: 'weather', arguments: { city: 'Oslo' }, id: 'call_0' }] }]);

describe('client tools of the agent bundle', (check) => {
  check(
    'wait for their results while the server is killed, and the turn goes on in the next one',
    inAgentWorld(async ({ start, model }) => {
      model.addReply(calls, isNoTitle);
      const first = await start();
      const { json: health } = await first.ask<{ features: readonly string[] }>('GET', '/global/health');
      assert.equal(health.features, ['client-tools', 'turns']);
      const { id } = await newSession(first);
      const body = { ...textPrompt('What is the weather?'), clientTools: { tools: [weather], choice: 'required' } };
      const { json: paused } = await first.ask<ReceivedAnswer>('POST', `/session/${id}/message`, body);
      assert.is(paused.info.finish, 'tool-calls');
      const part = paused.parts.find((one): one is ToolPart => one.type === 'tool');
      assert.is(part?.state.status, 'running');
      assert.is(model.requests().find(isNoTitle)?.body.tool_choice, 'required');
      await first.kill();

      const second = await start();
      const { json: session } = await second.ask<Session>('GET', `/session/${id}`);
      assert.equal(session.awaitedCalls?.callIDs, [part?.callID]);
      model.alwaysReply('It rains in Oslo.', isNoTitle);
      const results = [{ callID: part?.callID, output: 'rain' }];
      const path = `/session/${id}/client-tool-results`;
      const taken = await second.ask('POST', path, { results });
      assert.equal(taken.json, { accepted: [part?.callID], settled: [], waiting: [] });
      await until('the turn has gone on', async () => {
        const last = (await messagesOf(second, id)).at(-1);
        return last?.info.role === 'assistant' && last.info.finish === 'stop';
      });
      const [, , last] = await messagesOf(second, id);
      assert.is(promptTexts(last?.parts ?? []), 'It rains in Oslo.');
      assert.is(last?.info.role === 'assistant' && last.info.parentID, paused.info.parentID);
      const turns = model.requests().filter(isNoTitle).at(-1)?.turns;
      assert.equal(turns?.at(-1), { role: 'tool', id: part?.callID, name: 'weather', text: 'rain' });
      const again = await second.ask('POST', path, { results });
      assert.equal(again.json, { accepted: [], settled: [part?.callID], waiting: [] });
      assert.not.match(second.running.stderr(), '"event":"bug"');
    }),
  );
});
