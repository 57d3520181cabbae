import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { answer, reasoning, refusal, text } from '../../../src/demo/model/reply.ts';
import { describe } from '../../check.ts';
import { basic, PASSWORD, USER } from '../agent/process.ts';
import { CANARIES, isNoTitle } from '../agent/world.ts';
import { approvalIn, scriptTool } from './clients.ts';
import {
  BRIDGE_KEY,
  type BridgeProcess,
  inBridgeWorld,
  OTHER_BRIDGE_KEY,
  TOOLS_CONFIG,
  untilToolsAreThere,
} from './world.ts';

/** Every form in which a secret could be read. */
const SECRETS: readonly string[] = [BRIDGE_KEY, OTHER_BRIDGE_KEY, PASSWORD, CANARIES.modelKey, 'canary-wrong-key']
  .flatMap((secret) => [secret, Buffer.from(secret).toString('base64')])
  .concat(basic(USER, PASSWORD).slice('Basic '.length));
/** What people and models say here belongs into answers, and nowhere else. */
const WORDS = 'canary-words';

const assertNone = (text: string, forms: readonly string[], where: string): void => {
  for (const form of forms) {
    const at = text.indexOf(form);
    assert.is(at, -1, `${where}: …${text.slice(Math.max(0, at - 80), at + form.length + 20)}`);
  }
};

type Ask = (path: string, body?: object, headers?: Readonly<Record<string, string>>) => Promise<string>;

/** Asks, and keeps everything that was answered. */
const keptBy = ({
  send,
}: BridgeProcess): { readonly ask: Ask; readonly answers: readonly (readonly [string, string])[] } => {
  const answers: (readonly [string, string])[] = [];
  return {
    answers,
    async ask(path, body, headers = {}) {
      const response = await send(
        path,
        body === undefined ? { headers } : { method: 'POST', body: JSON.stringify(body), headers },
      );
      const words = `${[...response.headers].map((header) => header.join(': ')).join('\n')}\n\n${await response.text()}`;
      answers.push([path, words]);
      return words;
    },
  };
};

const chatOf = (words: string, more: object = {}) => ({
  model: 'demo/main',
  messages: [
    { role: 'system', content: `${WORDS} of an operator` },
    { role: 'user', content: words },
  ],
  ...more,
});

/** The raw bytes of everything that the agent keeps, its write-ahead log among them. */
const databaseOf = (directory: string): string =>
  readdirSync(directory)
    .filter((name) => name.startsWith('agent.db'))
    .map((name) => readFileSync(join(directory, name)).toString('latin1'))
    .join('\n');

describe('the secrets that the bridge bundle holds', (check) => {
  check(
    'are in no answer, no line of the log, no metric and nothing that the agent keeps',
    inBridgeWorld(
      { config: TOOLS_CONFIG, bridge: { LOG_LEVEL: 'debug', OPENAI_STREAM_CHUNK_SIZE: '0' } },
      async (world) => {
        const { agent, bridge, model, directory, startBridge } = world;
        await untilToolsAreThere(agent);
        const { ask, answers } = keptBy(bridge);
        const named = { 'x-session-id': `${WORDS} of a name`, 'x-request-id': 'fine-1' };
        for (const isStreamed of [false, true]) {
          model.alwaysReply(answer([...reasoning(`${WORDS} thought`), ...text(`${WORDS} said`)]), isNoTitle);
          assert.match(
            await ask('/v1/chat/completions', chatOf(`${WORDS} 1`, { stream: isStreamed, user: WORDS }), named),
            `${WORDS} sai`,
          );
          const made = await ask('/v1/responses', {
            model: 'demo/main',
            input: `${WORDS} 2`,
            stream: isStreamed,
            metadata: { x: WORDS },
          });
          const [, id = ''] = /"id":\s?"(resp_\w+)"/.exec(made) ?? [];
          assert.match(await ask(`/v1/responses/${id}`), `${WORDS} said`);
          model.clear();
          scriptTool(world, 'tools_noise');
          const headers = { 'x-session-id': `${WORDS} of another name ${isStreamed}` };
          const question = await ask('/v1/chat/completions', chatOf(`${WORDS} 3`), headers);
          const approval = approvalIn(question.replaceAll('\\"', '"'));
          assert.match(await ask('/v1/chat/completions', chatOf(approval, { stream: isStreamed }), headers), 'five');
          model.addReply(refusal(400, WORDS, { message: `Wrong key ${CANARIES.modelKey}` }), isNoTitle);
          await ask('/v1/chat/completions', chatOf(`${WORDS} 4`, { stream: isStreamed }));
          model.addReply(refusal(401, WORDS, { message: `Wrong key ${CANARIES.modelKey}` }), isNoTitle);
          await ask('/v1/responses', { model: 'demo/main', input: `${WORDS} 5`, stream: isStreamed });
        }
        for (const path of ['/v1/models', '/v1/chat/completions', '/v1/responses/x']) {
          const wrong = { authorization: 'Bearer canary-wrong-key' };
          assert.match(
            await ask(path, path.endsWith('completions') ? chatOf(WORDS) : undefined, wrong),
            'invalid_api_key',
          );
        }
        await ask('/v1/chat/completions', { model: WORDS, messages: [{ role: 'user', content: [{ type: WORDS }] }] });
        await ask('/v1/chat/completions', chatOf(WORDS, { model: WORDS }));
        await ask(`/v1/models/${WORDS}`);
        await ask(`/${WORDS}?key=${WORDS}`);
        const open = [await ask('/health'), await ask('/ready'), await ask('/openapi.json'), await ask('/metrics')];
        const unknownName = await startBridge({ BRIDGE_API_KEYS: BRIDGE_KEY, LOG_LEVEL: 'debug' });
        await unknownName.send('/v1/models');

        for (const [path, words] of answers) assertNone(words, SECRETS, path);
        for (const words of open) assertNone(words, [WORDS], 'what everybody may see');
        const sessions = (await agent.ask('GET', '/session')).text;
        assertNone(sessions, SECRETS, 'sessions');
        const database = databaseOf(directory);
        // What is looked for was really there: conversations are kept by a digest of the key that they belong to.
        assert.match(database, /"id":"cnv_\w+","owner":"[\w-]{16}"/);
        assert.match(database, `${WORDS} of an operator`);
        assertNone(database, SECRETS, 'database');
        for (const { running } of [bridge, unknownName]) {
          running.signal('SIGTERM');
          assert.is((await running.ended).code, 0);
          assertNone(running.stdout() + running.stderr(), [...SECRETS, 'canary'], 'log');
        }
        assert.match(bridge.running.stderr(), '"requestId":"fine-1"');
      },
    ),
  );

  check(
    'are compared whole: neither a part of a key nor a longer one is one',
    inBridgeWorld({}, async ({ bridge }) => {
      const keys = [BRIDGE_KEY.slice(0, -1), `${BRIDGE_KEY}0`, `${BRIDGE_KEY},${OTHER_BRIDGE_KEY}`, PASSWORD, ''];
      for (const key of keys) {
        const response = await bridge.send('/v1/models', { headers: { authorization: `Bearer ${key}` } });
        assert.is(response.status, 401, key);
        assert.match(response.headers.get('www-authenticate') ?? '', 'Bearer');
      }
      for (const key of [BRIDGE_KEY, OTHER_BRIDGE_KEY])
        assert.is((await bridge.send('/v1/models', { headers: { authorization: `Bearer ${key}` } })).status, 200);
    }),
  );
});
