import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import type { Script } from '../backends.ts';
import { KEY } from '../client.ts';
import { type GatewayWorld, withGateway } from '../gateway/world.ts';
import { freePort, start } from '../processes.ts';
import { installPythonProgram } from './installed.ts';
import { type Answered, answering, post } from './product.ts';
import { startUpstream, type Upstream } from './upstream.ts';

// The real proxy, with the guardrail as docs/integrations.md says.

const VERSION = '1.106.2';
const { home, missing } = installPythonProgram('litellm', VERSION, [
  `litellm[proxy]==${VERSION}`,
  'fastapi==0.165.0',
  'starlette==1.10.0',
]);
const NOWHERE = 'http://127.0.0.1:9';
const BLOCKED = 'Blocked by content moderation: harassment, harassment/threatening, violence';

/** The judge breaks over some words: so that it looks down, so that its server refuses the text, or so that it looks led astray. */
const breaking: Script = ({ text }) => {
  if (text.includes('please break')) return { status: 500, body: 'no' };
  if (text.includes('please filter')) return { status: 400, body: '{"error":"filtered"}' };
  return text.includes('lead it astray')
    ? { status: 200, body: JSON.stringify({ model: 'demo-judge', message: { content: '{}' }, done: true }) }
    : undefined;
};

type Proxy = GatewayWorld & {
  readonly upstream: Upstream;
  /** Sends a chat by the guardrail of this name; the content is the user's. */
  readonly chat: (guardrail: string, content: unknown, more?: object) => Promise<Answered>;
};

const guardrailsAt = (address: string) => {
  const common = { guardrail: 'generic_guardrail_api', mode: ['pre_call', 'post_call'], timeout: 30 };
  const usual = { ...common, api_base: address, api_key: KEY };
  const open = { unreachable_fallback: 'fail_open' };
  const guardrails: Readonly<Record<string, object>> = {
    usual,
    bearer: { ...common, api_base: address, headers: { Authorization: `Bearer ${KEY}` } },
    guard: { ...usual, headers: { 'x-moderation-model': 'qwen3guard' } },
    open: { ...usual, ...open },
    down: { ...usual, api_base: NOWHERE },
    'down-open': { ...usual, api_base: NOWHERE, ...open },
    'wrong-open': { ...usual, api_key: 'wrong', ...open },
  };
  return Object.entries(guardrails).map(([name, given]) => ({ guardrail_name: name, litellm_params: given }));
};

/** Runs `body` with the proxy between a provider and the gateway. */
const withProxy = (body: (proxy: Proxy) => Promise<void>): Promise<void> =>
  withGateway({ script: breaking }, async (world) => {
    const upstream = await startUpstream();
    const directory = mkdtempSync(join(tmpdir(), 'gatehouse-litellm-'));
    const port = await freePort();
    const model = { model: 'openai/m', api_base: `${upstream.address}/v1`, api_key: 'none' };
    const config = join(directory, 'config.json');
    const model_list = [{ model_name: 'm', litellm_params: model }];
    writeFileSync(config, JSON.stringify({ model_list, guardrails: guardrailsAt(world.gateway.address) }));
    const words = ['--config', config, '--host', '127.0.0.1', '--port', String(port), '--num_workers', '1'];
    const running = start(join(home, 'bin/litellm'), words, {
      directory,
      variables: {
        HOME: directory,
        LITELLM_LOG: 'ERROR',
        LITELLM_TELEMETRY: 'False',
        LITELLM_LOCAL_MODEL_COST_MAP: 'True',
        LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY: 'true',
      },
    });
    try {
      const address = `http://127.0.0.1:${port}`;
      await answering(running, `${address}/health/liveliness`);
      await body({
        ...world,
        upstream,
        chat: (guardrail, content, more = {}) =>
          post(`${address}/v1/chat/completions`, {
            model: 'm',
            messages: [{ role: 'user', content }],
            guardrails: [guardrail],
            ...more,
          }),
      });
    } finally {
      await running.kill();
      await upstream.stop();
      rmSync(directory, { recursive: true, force: true });
    }
  });

const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };
const sound = { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } };
const run = { name: 'run', arguments: '{"say":"I will kill you"}' };
const calling = [
  { role: 'user', content: 'hello' },
  { role: 'assistant', content: null, tool_calls: [{ id: 'x', type: 'function', function: run }] },
  { role: 'tool', tool_call_id: 'x', content: 'done' },
];

const threat = 'I will kill you';
const withMessage = (message: object) => ({ messages: [{ role: 'user', content: 'hello' }, message] });
/** What reaches the model without having been shown to the gateway. */
const UNSEEN: Readonly<Record<string, object>> = {
  'the name of a message': withMessage({ role: 'user', name: threat, content: 'hello' }),
  'a refusal': withMessage({ role: 'assistant', content: 'hello', refusal: threat }),
  'a part with a refusal': withMessage({ role: 'assistant', content: [{ type: 'refusal', refusal: threat }] }),
  'a function in the old form': { functions: [{ name: 'f', description: threat, parameters: {} }] },
  'a schema of the answer': {
    response_format: { type: 'json_schema', json_schema: { name: 'a', schema: { description: threat } } },
  },
  'a prediction': { prediction: { type: 'content', content: threat } },
};

describe('LiteLLM with the generic guardrail', (check) => {
  check.needing(missing, 'asks before the model and after it, and closes by itself', () =>
    withProxy(async ({ backend, upstream, chat }) => {
      /** Status, and whether the model was asked. */
      const outcome = async (guardrail: string, content: unknown, more?: object): Promise<readonly unknown[]> => {
        const before = upstream.chats();
        const { status } = await chat(guardrail, content, more);
        return [status, upstream.chats() - before];
      };
      for (const name of ['usual', 'bearer', 'guard']) {
        assert.equal(await outcome(name, 'hello'), [200, 1], name);
        const blocked = await chat(name, 'I will kill you');
        assert.is(blocked.status, 400, name);
        assert.match(blocked.text, 'Blocked by content moderation: harassment, harassment/threatening, violence');
        assert.not.match(blocked.text, 'I will kill you');
      }
      assert.equal(await outcome('usual', '', { messages: calling }), [400, 0]);
      const tools = [{ type: 'function', function: { name: 'f', description: 'I will kill you', parameters: {} } }];
      assert.equal(await outcome('usual', 'hello', { tools }), [400, 0]);

      upstream.say('I will kill you');
      assert.equal(await outcome('usual', 'good morning'), [400, 1]);
      assert.match((await chat('usual', 'good morning', { stream: true })).text, BLOCKED);
      upstream.call('{"say":"I will kill you"}');
      assert.match((await chat('usual', 'good morning', { stream: true })).text, BLOCKED);
      upstream.call('{"say":"Good day, how are you?"}');
      const called = await chat('usual', 'good morning', { stream: true });
      assert.match(called.text, /"finish_reason": ?"(?:tool_calls|stop)"/);
      assert.not.match(called.text, /error/);
      upstream.say('Good day.');

      // What it has asked about is not judged again.
      const judged = backend.calls.length;
      assert.equal(await outcome('usual', 'good morning'), [200, 1]);
      assert.ok(backend.calls.length - judged <= 1);

      // No verdict: it closes, and lets pass what its operator calls an outage, and no more.
      for (const name of ['usual', 'open']) {
        assert.equal(await outcome(name, 'lead it astray'), [500, 0], name);
        assert.equal(await outcome(name, 'please filter'), [500, 0], name);
        assert.equal(await outcome(name, [{ type: 'text', text: 'hello' }, image]), [500, 0], name);
        assert.equal(await outcome(name, [{ type: 'text', text: 'hello' }, sound]), [500, 0], name);
      }
      assert.equal(await outcome('usual', 'please break'), [500, 0]);
      assert.equal(await outcome('open', 'please break'), [200, 1]);
      assert.equal(await outcome('down', 'I will kill you'), [500, 0]);
      assert.equal(await outcome('down-open', 'I will kill you'), [200, 1]);
      assert.equal(await outcome('wrong-open', 'hello'), [500, 0]);
      // It asks nobody about images alone, and leaves out what its own types do not have.
      assert.equal(await outcome('usual', [image]), [200, 1]);
      for (const [name, more] of Object.entries(UNSEEN))
        assert.equal(await outcome('usual', 'hello', more), [200, 1], name);
    }),
  );
});
