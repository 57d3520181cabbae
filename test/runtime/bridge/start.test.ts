import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import OpenAI, { APIError } from 'openai';
import * as assert from 'uvu/assert';
import { describe, rejection } from '../../check.ts';
import { addressOf, PASSWORD, USER } from '../agent/process.ts';
import { inAgentWorld, isNoTitle, type Settings, until } from '../agent/world.ts';
import { freePort, type Running } from '../processes.ts';
import { beginBridge } from './world.ts';

const KEYS = { BRIDGE_API_KEYS: 'canary-key-1' } as const;

/** What a start that must fail has written. */
const errorsOf = async (variables: Settings): Promise<readonly string[]> => {
  const running = beginBridge(variables);
  const { code } = await running.ended;
  assert.equal([code, running.stdout()], [1, '']);
  return running
    .stderr()
    .trim()
    .split('\n')
    .filter((line) => !line.startsWith('{'));
};

/** Runs the body beside a bridge, which need not be ready. */
const withBridge = async (variables: Settings, body: (running: Running, address: string) => Promise<void>) => {
  const running = beginBridge(variables);
  try {
    await body(running, await addressOf(running));
  } finally {
    await running.kill();
  }
};

const readyAt = async (address: string): Promise<{ readonly status: number; readonly reasons: string }> => {
  const response = await fetch(`${address}/ready`);
  const { reasons = [] } = (await response.json()) as { readonly reasons?: readonly string[] };
  return { status: response.status, reasons: reasons.join('; ') };
};

const openaiAt = (address: string): OpenAI =>
  new OpenAI({ baseURL: `${address}/v1`, apiKey: KEYS.BRIDGE_API_KEYS, maxRetries: 0 });

describe('starting the bridge bundle', (check) => {
  check('fails on a port that is in use, and says so', async () => {
    const server = createServer();
    await new Promise<void>((settle) => server.listen(0, '127.0.0.1', settle));
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const errorTexts = await errorsOf({ PORT: String(port), ...KEYS });
    server.close();
    assert.equal(errorTexts, [`gatehouse bridge: PORT: port ${port} on 127.0.0.1 is in use; set PORT to a free one`]);
  });

  check('names a misspelt variable, which may be the cause', async () => {
    const errorTexts = await errorsOf({ HOST: '0.0.0.0', BRIDGE_API_KEY: 'canary' });
    assert.is(errorTexts.length, 2, errorTexts.join());
    assert.is(
      errorTexts[1],
      'gatehouse bridge: BRIDGE_API_KEY: this variable has no effect, and without BRIDGE_API_KEYS everyone would have access: rename it to BRIDGE_API_KEYS, or remove it',
    );
  });

  check('names everything that is wrong at once, and never what was given', async () => {
    const errorTexts = await errorsOf({
      HOST: '0.0.0.0',
      PORT: 'canary-1',
      AGENT_BASE_URL: 'ftp://canary-2:canary-3@host',
      DEFAULT_MODEL: 'canary-4',
      OPENAI_STREAM_CHUNK_SIZE: '-5',
      OPENAI_STREAM_CHUNK_DELAY_MS: 'canary-6',
      ENABLE_LEADING_ECHO_FILTER: 'canary-7',
      BRIDGE_ON_DISCONNECT: 'canary-8',
      BRIDGE_HEARTBEAT: 'canary-9',
      BRIDGE_CONFIG: '/canary-10',
      MAX_BODY_BYTES: '1',
    });
    const named = errorTexts.map((line) => /^gatehouse bridge: ([A-Z_]+): expected /.exec(line)?.[1] ?? line);
    assert.equal(named.sort(), [
      'AGENT_BASE_URL',
      'BRIDGE_API_KEYS',
      'BRIDGE_CONFIG',
      'BRIDGE_HEARTBEAT',
      'BRIDGE_ON_DISCONNECT',
      'DEFAULT_MODEL',
      'ENABLE_LEADING_ECHO_FILTER',
      'MAX_BODY_BYTES',
      'OPENAI_STREAM_CHUNK_DELAY_MS',
      'OPENAI_STREAM_CHUNK_SIZE',
      'PORT',
    ]);
    assert.not.match(errorTexts.join('\n'), 'canary');
  });

  check(
    'takes the four settings from a file, under the variables, and complains of what it does not know',
    inAgentWorld(async ({ start, model, directory }) => {
      model.alwaysReply('Good day.', isNoTitle);
      const agent = await start();
      const file = join(directory, 'bridge.json');
      const settings = { defaultModel: 'demo/small', openaiStreamChunkSize: 2, openaiStreamChunkDelayMs: 0 };
      writeFileSync(file, JSON.stringify({ ...settings, enableLeadingEchoFilter: true }));
      const place = { AGENT_BASE_URL: agent.address, AGENT_SERVER_USERNAME: USER, AGENT_SERVER_PASSWORD: PASSWORD };
      await withBridge(
        { ...KEYS, ...place, BRIDGE_CONFIG: file, OPENAI_STREAM_CHUNK_SIZE: '3' },
        async (_, address) => {
          const asking = { model: '', messages: [{ role: 'user' as const, content: 'hello' }], stream: true as const };
          const pieces: string[] = [];
          for await (const { choices, model: name } of await openaiAt(address).chat.completions.create(asking)) {
            pieces.push(choices[0]?.delta.content ?? '');
            assert.is(name, 'demo/small');
          }
          assert.equal(pieces.filter(Boolean), ['Goo', 'd d', 'ay.']);
        },
      );
      writeFileSync(file, JSON.stringify({ defaultmodel: 'canary' }));
      assert.equal(await errorsOf({ ...KEYS, BRIDGE_CONFIG: file }), [
        'gatehouse bridge: BRIDGE_CONFIG: defaultmodel: an unknown name; the nearest known one is defaultModel',
      ]);
    }),
  );

  check('lets only this machine in without keys, and says so; and says which settings mean nothing', async () => {
    const settings = { HOST: undefined, BRIDGE_ON_DISCONECT: 'abort', AGENT_BASE_URL: 'http://127.0.0.1:9' };
    await withBridge(settings, async (running, address) => {
      assert.match(address, /^http:\/\/127\.0\.0\.1:/);
      assert.match(running.stderr(), '"event":"this-machine-only"');
      assert.match(running.stderr(), /"setting":"BRIDGE_ON_DISCONECT".*nearest known one is BRIDGE_ON_DISCONNECT/);
    });
  });

  check(
    'without an agent starts, says why it is not ready, and is ready when the agent comes',
    inAgentWorld(async ({ start, model }) => {
      model.alwaysReply('Good day.', isNoTitle);
      const port = await freePort();
      const place = {
        AGENT_BASE_URL: `http://127.0.0.1:${port}`,
        AGENT_SERVER_USERNAME: USER,
        AGENT_SERVER_PASSWORD: PASSWORD,
      };
      await withBridge({ ...KEYS, ...place }, async (_, address) => {
        assert.is((await fetch(`${address}/health`)).status, 200);
        assert.equal(await readyAt(address), {
          status: 503,
          reasons: 'the agent server cannot be used (agent_unreachable)',
        });
        const asking = { model: 'demo/main', messages: [{ role: 'user' as const, content: 'hello' }] };
        for (const call of [
          async () => openaiAt(address).models.list(),
          async () => openaiAt(address).chat.completions.create(asking),
          async () => openaiAt(address).responses.create({ model: 'demo/main', input: 'hello' }),
        ]) {
          const error = (await rejection(call())) as APIError;
          assert.instance(error, APIError);
          assert.equal([error.status, error.code], [502, 'agent_unreachable']);
          // Nothing was done, so that clients may ask again.
          assert.is(error.headers?.get('x-should-retry') ?? null, null);
        }
        await start({ variables: { PORT: String(port) } });
        await until('it is ready', async () => (await readyAt(address)).status === 200);
        const { choices } = await openaiAt(address).chat.completions.create(asking);
        assert.is(choices[0]?.message.content, 'Good day.');
      });
    }),
  );

  check.thorough(
    'with a wrong password for the agent says so, and with no such model, too',
    inAgentWorld(async ({ start }) => {
      const agent = await start();
      const place = { AGENT_BASE_URL: agent.address, AGENT_SERVER_USERNAME: USER };
      await withBridge({ ...KEYS, ...place, AGENT_SERVER_PASSWORD: 'canary-wrong' }, async (running, address) => {
        assert.is((await readyAt(address)).status, 503);
        const error = (await rejection(Promise.resolve(openaiAt(address).models.list()))) as APIError;
        assert.equal([error.status, error.code], [502, 'agent_unauthorized']);
        assert.not.match(running.stderr(), 'canary');
      });
      const settings = { ...KEYS, ...place, AGENT_SERVER_PASSWORD: PASSWORD, DEFAULT_MODEL: 'demo/none' };
      await withBridge(settings, async (_, address) => {
        await until('it knows why', async () => /no such model/.test((await readyAt(address)).reasons));
      });
    }),
  );
});
