import * as assert from 'uvu/assert';
import type { AgentMetrics } from '../../../../src/agent/metrics.ts';
import type { Rule } from '../../../../src/agent/protocol/types.ts';
import type { AgentTool } from '../../../../src/agent/tools/tool.ts';
import { describe } from '../../../check.ts';
import { NO_AGENT_METRICS } from '../../harness/metrics.ts';
import {
  calling,
  createAgentWorld,
  hanging,
  outcome,
  prompt,
  replying,
  type Script,
  toolNamed,
} from '../../harness/world.ts';
import { createGate, memory, sessionWithText } from './world.ts';

describe('the messages that turns hold', (check) => {
  check(
    'are given back for the most part when the request is on its way, however long the model is silent',
    async () => {
      const silent: Script = async function* ({ onSent }, signal) {
        onSent?.();
        await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
        yield { kind: 'text', delta: 'never' };
      };
      const world = await createAgentWorld({ scripts: [silent, replying('second')], changes: { memory } });
      const [slow, next] = [await sessionWithText(world), await sessionWithText(world)];
      const begin = (id: string) => world.call('POST', `/session/${id}/prompt_async`, prompt('go on'));
      assert.is((await begin(slow)).status, 204);
      await world.clock.advance(100);
      assert.is((await begin(next)).status, 204);
      await world.clock.advance(1000);
      assert.match(JSON.stringify(await world.get(`/session/${next}/message`)), /"second"/);
      assert.equal(Object.keys(Object(await world.get('/session/status'))), [slow]);
    },
  );

  check('are given back for the most part when the model begins to answer, however long it takes', async () => {
    const world = await createAgentWorld({ scripts: [hanging, replying('second')], changes: { memory } });
    const [slow, next] = [await sessionWithText(world), await sessionWithText(world)];
    const begin = (id: string) => world.call('POST', `/session/${id}/prompt_async`, prompt('go on'));
    assert.is((await begin(slow)).status, 204);
    await world.clock.advance(100);
    assert.is((await begin(next)).status, 204);
    await world.clock.advance(1000);
    assert.match(JSON.stringify(await world.get(`/session/${next}/message`)), /"second"/);
    assert.equal(Object.keys(Object(await world.get('/session/status'))), [slow]);
  });

  check('are not taken to look for a preview, which reads some at a time, nor while a person decides', async () => {
    const gate = createGate();
    const from = (tool: string): AgentTool => ({ ...toolNamed(`relay_${tool}`), origin: { server: 'relay', tool } });
    const rules = ['*', 'relay_recharge'].map(
      (permission, place): Rule => ({ permission, pattern: '*', action: place === 0 ? 'allow' : 'ask' }),
    );
    const charge = calling({ name: 'relay_recharge', input: { preview_token: 'token' } });
    const tools = [from('preview_recharge'), from('recharge')];
    const scripts = [charge, gate.script, replying('last')];
    const world = await createAgentWorld({ scripts, tools, rules, changes: { memory } });
    const [charged, held, last] = [
      await sessionWithText(world),
      await sessionWithText(world),
      await sessionWithText(world),
    ];
    const begin = async (id: string): Promise<void> =>
      assert.is((await world.call('POST', `/session/${id}/prompt_async`, prompt('go on'))).status, 204);
    await begin(charged);
    await begin(held);
    await world.clock.advance(100);
    assert.is(gate.calls(), 1);
    assert.match(JSON.stringify(await world.get('/permission')), /relay_recharge/);
    gate.open();
    await world.clock.advance(100);
    await begin(last);
    await world.clock.advance(1000);
    assert.match(JSON.stringify(await world.get(`/session/${last}/message`)), /"last"/);
  });

  check('are kept while tools run until others need them, and given back at the end of the turn', async () => {
    let bytesInFlight = (): number => 0;
    const metrics: AgentMetrics = {
      ...NO_AGENT_METRICS,
      watch(read) {
        bytesInFlight = () => read().bytesInFlight;
      },
    };
    const running: (() => void)[] = [];
    const tool = toolNamed('wait', async () => {
      await new Promise<void>((resolve) => running.push(resolve));
      return outcome('waited');
    });
    const wait = calling({ name: 'wait', input: {} });
    const scripts = [wait, calling({ name: 'wait', input: { again: true } }), replying('other'), replying('done')];
    const world = await createAgentWorld({ scripts, tools: [tool], changes: { memory, metrics } });
    const [held, other] = [await sessionWithText(world), await world.session()];
    assert.is((await world.call('POST', `/session/${held}/prompt_async`, prompt('go on'))).status, 204);
    await world.clock.advance(100);
    const keptBytes = bytesInFlight();
    assert.ok(keptBytes > 18_000 && keptBytes < 20_000, String(keptBytes));
    running.shift()?.();
    await world.clock.advance(100);
    assert.is(bytesInFlight() > 18_000, true);
    assert.match(JSON.stringify(await world.post(`/session/${other}/message`, prompt('y'.repeat(85_000)))), /"other"/);
    assert.is(bytesInFlight() < 85_000, true);
    running.shift()?.();
    await world.clock.advance(100);
    assert.match(JSON.stringify(world.asked.at(-1)?.messages), /x{60000}/);
    assert.match(JSON.stringify(await world.get(`/session/${held}/message`)), /"done"/);
    assert.is(bytesInFlight(), 0);
  });
});
