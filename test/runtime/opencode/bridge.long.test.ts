import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import OpenAI from 'openai';
import * as assert from 'uvu/assert';
import { systemClock } from '../../../src/adapter/node/clock.ts';
import { answer, calls, text } from '../../../src/demo/model/reply.ts';
import { withModelServer } from '../../agent/harness/model-server.ts';
import { CHILD_FILE } from '../../agent/tools/mcp/child.ts';
import { describe } from '../../check.ts';
import { createControlledModel } from '../../demo/model/control.ts';
import { agentAt, PASSWORD, USER } from '../agent/process.ts';
import { isNoTitle, plainConfig, until } from '../agent/world.ts';
import { approvalIn, asked, type ClientWorld, checkClient, newText } from '../bridge/clients.ts';
import { CHAT_CLIENTS } from '../bridge/openai-chat.ts';
import { RESPONSES_CLIENTS } from '../bridge/openai-responses.ts';
import { BRIDGE_KEY, sharedWorld, startBridgeAt, untilToolsAreThere } from '../bridge/world.ts';
import { freePort, start } from '../processes.ts';
import { findOpencode, missingOpencode, variablesIn } from './world.ts';

const configOf = (modelAddress: string) => ({
  ...plainConfig(modelAddress),
  permission: { '*': 'allow', tools_noise: 'ask', bash: 'ask' },
  mcp: { tools: { type: 'local', command: [process.execPath, CHILD_FILE] } },
  share: 'disabled',
  autoupdate: false,
  snapshot: false,
  lsp: false,
  formatter: false,
});

const variablesOf = (directory: string, modelAddress: string) => ({
  ...variablesIn(directory),
  OPENCODE_CONFIG_CONTENT: JSON.stringify(configOf(modelAddress)),
  MODEL_KEY: 'any',
});

/** Runs the body beside a model, a real OpenCode server and the bridge before it. */
const withOpencode = async (body: (world: ClientWorld) => Promise<void>): Promise<void> => {
  const program = await findOpencode();
  const directory = mkdtempSync(join(tmpdir(), 'bridge-opencode-'));
  const work = join(directory, 'work');
  mkdirSync(work);
  const { handler, control } = createControlledModel({ clock: systemClock });
  try {
    await withModelServer(handler, async ({ url }) => {
      // Without a port of its own it takes one that others take as well.
      const words = ['serve', '--hostname=127.0.0.1', `--port=${await freePort()}`];
      const running = start(program, words, { directory: work, variables: variablesOf(directory, url) });
      try {
        const [, address = ''] = await running.outputMatching(/listening on (http:\/\/\S+)/);
        const agent = agentAt(running, address, PASSWORD);
        const bridge = await startBridgeAt({ address, user: USER, password: PASSWORD });
        try {
          await untilToolsAreThere(agent);
          await body({ model: control, agent, bridge });
        } finally {
          await bridge.running.kill();
        }
      } finally {
        await running.kill();
      }
    });
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
};

const beside = sharedWorld(withOpencode);
const openaiOf = ({ bridge }: ClientWorld): OpenAI => new OpenAI({ baseURL: bridge.baseURL, apiKey: BRIDGE_KEY });

for (const client of [CHAT_CLIENTS.streamed, RESPONSES_CLIENTS.helped])
  describe(`OpenAI's own client before a real OpenCode, ${client.name}`, (check) =>
    checkClient((name, body) => check.needing(missingOpencode, name, body), {
      beside,
      client,
    }));

describe("OpenAI's own client before a real OpenCode", (check) => {
  check.needing(
    missingOpencode,
    'lists its models, the default first',
    beside(async (world) => {
      const ids: string[] = [];
      for await (const { id } of openaiOf(world).models.list()) ids.push(id);
      assert.is(ids[0], 'demo/main');
      assert.ok(ids.includes('demo/small'));
      assert.is((await openaiOf(world).models.retrieve('demo/small')).id, 'demo/small');
    }),
  );

  check.needing(
    missingOpencode,
    'shows the command that is to be run, which is run when it is approved, and not when it is rejected',
    beside(async (world) => {
      const openai = openaiOf(world);
      for (const isApproved of [true, false]) {
        world.model.clear();
        const command = { command: 'echo fi""ve', description: 'Says it' };
        world.model.addReply(answer(calls({ name: 'bash', arguments: command })), isNoTitle);
        world.model.addReply('So be it.', isNoTitle);
        const headers = { 'x-session-id': newText() };
        const send = async (words: string): Promise<string> => {
          const messages = [{ role: 'user' as const, content: words }];
          const { choices } = await openai.chat.completions.create({ model: 'demo/main', messages }, { headers });
          return choices[0]?.message.content ?? '';
        };
        const question = await send('please');
        assert.match(question, 'The agent asks for approval: bash\n```text\n{"command":"echo fi\\"\\"ve"}');
        const approval = approvalIn(question);
        const after = await send(isApproved ? approval : approval.replace('approve', 'reject'));
        if (isApproved) assert.is(after, 'So be it.');
        const collected = JSON.stringify(asked(world).at(-1)?.turns.at(-1));
        assert.is(/"text":"five/.test(collected), isApproved, collected);
      }
    }),
  );

  check.needing(
    missingOpencode,
    'ends its run when it leaves',
    beside(async (world) => {
      world.model.addReply(answer([...text('so far '), { kind: 'hang' }]), isNoTitle);
      const messages = [{ role: 'user' as const, content: newText() }];
      const stream = await openaiOf(world).chat.completions.create({ model: 'demo/main', messages, stream: true });
      for await (const { choices } of stream) if (choices[0]?.delta.content) break;
      await until('the model sees that nobody listens', () => asked(world)[0]?.isAborted() === true);
    }),
  );
});
