import * as assert from 'uvu/assert';
import example from '../../agent.example.json' with { type: 'json' };
import { DEMO_MODEL_NAME, demoAgentConfig } from '../../src/demo/agent-config.ts';
import { describe } from '../check.ts';

const made = demoAgentConfig(example, { model: 'http://127.0.0.1:1', relay: { RELAY_BASE_URL: 'http://127.0.0.1:2' } });

describe("the demo's agent configuration", (check) => {
  check('has agents and permissions as the example has them', () => {
    assert.equal(made.permission, example.permission);
    assert.equal(made.agent, example.agent);
    assert.is(made.agent.maintainer.permission['relay-admin_recharge'], 'ask');
  });

  check('knows one model, whose name says that it is none', () => {
    assert.equal([made.model, made.small_model], [DEMO_MODEL_NAME, DEMO_MODEL_NAME]);
    assert.is(DEMO_MODEL_NAME, 'demo/demo-model');
    assert.equal(Object.keys(made.provider), ['demo']);
    assert.not.match(JSON.stringify(made), 'ollama.com');
  });

  check('leads its tool server to the toy relay, and leaves its other settings', () => {
    const { command, environment } = made.mcp['relay-admin'];
    assert.equal(command, ['gatehouse', 'relay-admin']);
    assert.is(environment.RELAY_BASE_URL, 'http://127.0.0.1:2');
    assert.is(environment.RELAY_MAX_RECHARGE, example.mcp['relay-admin'].environment.RELAY_MAX_RECHARGE);
  });
});
