import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import type { Script } from '../backends.ts';
import { KEY } from '../client.ts';
import { type GatewayWorld, withGateway } from '../gateway/world.ts';
import { freePort, ROOT, start } from '../processes.ts';
import { installNpmPackage } from './installed.ts';
import { type Answered, answering, post } from './product.ts';
import { startUpstream, type Upstream } from './upstream.ts';

// The real gateway of Portkey, with the webhook as docs/integrations.md says.

const { home, missing } = installNpmPackage('@portkey-ai/gateway', '1.15.2');
const NOWHERE = 'http://127.0.0.1:9/';

const breaking: Script = ({ text }) => {
  if (text.includes('please break')) return { status: 500, body: 'no' };
  return text.includes('please wait') ? 'hang' : undefined;
};

type Portkey = GatewayWorld & {
  readonly upstream: Upstream;
  /** Sends a chat with these hooks; the content is the user's. */
  readonly chat: (hooks: object, content: unknown, more?: object) => Promise<Answered>;
};

/** Runs `body` with Portkey between a provider and the gateway. */
const withPortkey = (body: (portkey: Portkey) => Promise<void>): Promise<void> =>
  withGateway({ script: breaking }, async (world) => {
    const upstream = await startUpstream();
    const port = await freePort();
    const loopback = join(ROOT, 'bench/loopback.mjs');
    const server = join(home, 'build/start-server.js');
    const running = start(process.execPath, ['--import', loopback, server, `--port=${port}`, '--headless'], {
      variables: { TRUSTED_CUSTOM_HOSTS: '127.0.0.1' },
    });
    try {
      const address = `http://127.0.0.1:${port}`;
      await answering(running, `${address}/`);
      await body({
        ...world,
        upstream,
        chat: (hooks, content, more = {}) => {
          const config = { provider: 'openai', api_key: 'none', custom_host: `${upstream.address}/v1`, ...hooks };
          const asked = { model: 'm', messages: [{ role: 'user', content }], ...more };
          return post(`${address}/v1/chat/completions`, asked, { 'x-portkey-config': JSON.stringify(config) });
        },
      });
    } finally {
      await running.kill();
      await upstream.stop();
    }
  });

describe('Portkey with the webhook guardrail', (check) => {
  check.needing(missing, 'asks before the model and after it, and closes where the gateway says so', () =>
    withPortkey(async ({ gateway, upstream, chat }) => {
      const guardrail = (parameters: object) => ({
        type: 'guardrail',
        id: 'gatehouse',
        deny: true,
        checks: [
          {
            id: 'default.webhook',
            parameters: {
              webhookURL: `${gateway.address}/integrations/portkey`,
              headers: { Authorization: `Bearer ${KEY}` },
              ...parameters,
            },
          },
        ],
      });
      const before = (parameters: object = {}) => ({ before_request_hooks: [guardrail(parameters)] });
      const after = (parameters: object = {}) => ({ after_request_hooks: [guardrail(parameters)] });
      /** Status, and whether the model was asked. */
      const outcome = async (hooks: object, content: unknown, more?: object): Promise<readonly unknown[]> => {
        const chats = upstream.chats();
        const { status } = await chat(hooks, content, more);
        return [status, upstream.chats() - chats];
      };
      assert.equal(await outcome(before(), 'hello'), [200, 1]);
      const denied = await chat(before(), 'I will kill you');
      assert.is(denied.status, 446);
      assert.match(denied.text, '"categories":["harassment","harassment/threatening","violence"]');
      assert.not.match(denied.text, 'I will kill you');
      assert.not.match(denied.text, KEY);
      const earlier = {
        messages: [
          { role: 'user', content: 'I will kill you' },
          { role: 'user', content: 'hello' },
        ],
      };
      assert.equal(await outcome(before(), '', earlier), [446, 0]);

      assert.equal(await outcome(after(), 'hello'), [200, 1]);
      upstream.say('I will kill you');
      assert.equal(await outcome(after(), 'hello'), [446, 1]);
      // Its choice: a streamed answer is with the user before it asks.
      assert.match((await chat(after(), 'hello', { stream: true })).text, 'ill you');
      upstream.say('Good day.');

      // No verdict.
      assert.equal(await outcome(before(), 'please break'), [446, 0]);
      assert.equal(await outcome(before(), 'please wait'), [446, 0]);
      assert.equal(await outcome(before({ headers: { Authorization: 'Bearer wrong' } }), 'hello'), [446, 0]);
      const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };
      assert.equal(await outcome(before(), [{ type: 'text', text: 'hello' }, image]), [446, 0]);

      // Its choice: it passes whatever is no answer, unless it is told not to.
      for (const webhookURL of [NOWHERE, `${gateway.address}/elsewhere`]) {
        assert.equal(await outcome(before({ webhookURL }), 'I will kill you'), [200, 1]);
        assert.equal(await outcome(before({ webhookURL, failOnError: true }), 'hello'), [446, 0]);
      }
      const late = { headers: { Authorization: `Bearer ${KEY}`, 'x-request-timeout-ms': '20000' }, timeout: 500 };
      assert.equal(await outcome(before(late), 'please wait too'), [200, 1]);
      assert.equal(await outcome(before({ ...late, failOnError: true }), 'please wait too'), [446, 0]);
    }),
  );
});
