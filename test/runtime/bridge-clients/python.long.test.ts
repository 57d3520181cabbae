import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { answer, calls } from '../../../src/demo/model/reply.ts';
import { describe } from '../../check.ts';
import { isNoTitle } from '../agent/world.ts';
import { asked, newText, scriptTool, sessionsOf } from '../bridge/clients.ts';
import {
  BRIDGE_KEY,
  type BridgeWorld,
  inBridgeWorld,
  sharedWorld,
  TOOLS_CONFIG,
  untilToolsAreThere,
} from '../bridge/world.ts';
import { run, type Variables } from '../processes.ts';
import { createPythonClients } from './python-clients.ts';
import { checkPythonConversations } from './python-conversations.ts';
import { installPythonPackages } from './python-packages.ts';
import { checkPythonTools, checkPythonToolsAndValue } from './python-tools.ts';
import { callsIn, scriptSlowTool } from './slow-tool.ts';

// Client libraries and programs for Python, in the versions of the three lists. Aider and LlamaIndex pin what the others want newer.

type Refusal = { readonly status: number; readonly message: string };

const LISTS = join(import.meta.dirname, 'python');
const { directory, missing } = installPythonPackages('clients', ['-r', join(LISTS, 'requirements.txt')]);
const aider = installPythonPackages('aider', ['-r', join(LISTS, 'requirements-aider.txt')]);
const llama = installPythonPackages('llama-index', ['-r', join(LISTS, 'requirements-llama-index.txt')]);

/** A model of this name is all that LlamaIndex's class for OpenAI takes. */
const OPENAI_MODEL = { 'gpt-4o-mini': { id: 'demo-main', name: 'Main' } };
const clients = createPythonClients(directory);
const llamaClients = createPythonClients(llama.directory);
const MAIN = { missing, call: clients.call };
const shared = sharedWorld<BridgeWorld>((body) =>
  inBridgeWorld({ config: TOOLS_CONFIG, models: OPENAI_MODEL }, async (world) => {
    try {
      await untilToolsAreThere(world.agent);
      await body(world);
    } finally {
      await Promise.all([clients, llamaClients].map(({ end }) => end()));
    }
  })(),
);
/** The world ends with the last check for it, so one that is skipped must not count. */
const beside = (lacking: string | undefined, body: (world: BridgeWorld) => Promise<void>) =>
  lacking === undefined ? shared(body) : () => {};

type Client = readonly [name: string, client: string, place?: typeof MAIN];
const llamaIndex = (name: string, client: string): Client => [
  `LlamaIndex, ${name}`,
  `llama_index_clients.${client}`,
  { missing: llama.missing, call: llamaClients.call },
];

const python = async (words: readonly string[], variables: Variables, place: string = tmpdir()): Promise<string> => {
  const { code, stdout, stderr } = await run('python3', words, { variables, directory: place });
  assert.is(code, 0, (stdout + stderr).slice(-3000));
  return stdout;
};

const CHATS: readonly Client[] = [
  ['openai', 'openai_clients.chat'],
  ['openai, streamed', 'openai_clients.chat_stream'],
  ['LangChain', 'langchain_clients.chat'],
  ['LangChain, streamed', 'langchain_clients.chat_stream'],
  ['pydantic-ai', 'pydantic_ai_clients.chat'],
  ['instructor', 'instructor_clients.chat'],
  ['OpenAI Agents, chat model', 'agents_clients.chat_model'],
  llamaIndex('OpenAILike', 'like_chat'),
  llamaIndex('OpenAILike, streamed', 'like_stream'),
  llamaIndex('OpenAI', 'openai_chat'),
  llamaIndex('OpenAI, streamed', 'openai_stream'),
];
const STRUCTURED: readonly Client[] = [
  ['openai with a required tool', 'openai_clients.tool_required'],
  ['openai with a parsed answer', 'openai_clients.parse'],
  ['openai with a parsed response', 'openai_clients.responses_parse'],
  ['LangChain with structured output as it is by default', 'langchain_clients.structured'],
  ['LangChain with structured output by a function call', 'langchain_clients.structured_by_call'],
  ['LangChain with structured output by its JSON mode', 'langchain_clients.structured_by_json_mode'],
  ['pydantic-ai with an output type', 'pydantic_ai_clients.structured'],
  ['instructor with a response model', 'instructor_clients.structured'],
  ['instructor with partial objects', 'instructor_clients.partial'],
  ['instructor with JSON Schema', 'instructor_clients.json_schema'],
  ['instructor from its provider', 'instructor_clients.provider'],
  ['OpenAI Agents with an output type', 'agents_clients.structured'],
  ['OpenAI Agents with an output type, chat model', 'agents_clients.structured_in_chat'],
  llamaIndex('OpenAILike with a structured prediction', 'like_predict'),
  llamaIndex('OpenAI with a structured prediction', 'openai_predict'),
];
/** The functions by which libraries have an object given, and the agent's own one for a format. */
const VALUE_TOOLS = ['StructuredOutput', 'city', 'City', 'PartialCity', 'final_result'];
const COMPLETIONS: readonly Client[] = [
  ['openai', 'openai_clients.completion'],
  ['openai, streamed', 'openai_clients.completion_stream'],
  llamaIndex('OpenAILike as it is by default', 'like_complete'),
  llamaIndex('OpenAILike as it is by default, streamed', 'like_stream_complete'),
];

const TOOLS: readonly Client[] = [
  ['openai', 'openai_clients.tools'],
  ['openai, streamed', 'openai_clients.tools_stream'],
  ['openai, responses', 'openai_clients.responses_tools'],
  ['openai, responses, streamed', 'openai_clients.responses_tools_stream'],
  ['LangChain with bound tools', 'langchain_clients.bound_tools'],
  ['LangChain with bound tools, responses', 'langchain_clients.bound_tools_in_responses'],
  ['LangChain with bound tools, after the last response', 'langchain_clients.bound_tools_after_responses'],
  ["LangChain's agent", 'langchain_clients.agent'],
  ["LangChain's agent, streamed", 'langchain_clients.agent_stream'],
  ['pydantic-ai', 'pydantic_ai_clients.tools'],
  ['pydantic-ai, responses', 'pydantic_ai_clients.tools_in_responses'],
  ['pydantic-ai, streamed', 'pydantic_ai_clients.tools_stream'],
  ['OpenAI Agents', 'agents_clients.tools'],
  ['OpenAI Agents, chat model', 'agents_clients.tools_in_chat'],
  ['OpenAI Agents, streamed', 'agents_clients.tools_stream'],
  llamaIndex("OpenAILike's function agent", 'like_agent'),
  llamaIndex("OpenAI's function agent", 'openai_agent'),
];
/** With the tool by which the library has the object given. */
const TOOLS_AND_VALUE: readonly (readonly [client: Client, tool: string])[] = [
  [['pydantic-ai', 'pydantic_ai_clients.tools_and_structured'], 'final_result'],
  [['OpenAI Agents', 'agents_clients.tools_and_structured'], 'StructuredOutput'],
  [["LangChain's agent", 'langchain_clients.agent_structured'], 'City'],
];

const pythonClient = ([name, client, place = MAIN]: Client) => ({ name, client, ...place });

describe('a client library for Python with a tool', (check) => {
  checkPythonTools(check, { clients: TOOLS.map(pythonClient), beside });
  const clients = TOOLS_AND_VALUE.map(([client, tool]) => ({ ...pythonClient(client), tool }));
  checkPythonToolsAndValue(check, { clients, beside });

  for (const [name, client] of [
    ['OpenAI Agents', 'agents_clients.handoff'],
    ['OpenAI Agents, chat model', 'agents_clients.handoff_in_chat'],
  ] as const)
    check.needing(
      missing,
      `(${name}) is handed over to another one`,
      beside(missing, async (world) => {
        world.model.addReply(answer(calls({ name: 'transfer_to_weather', arguments: {} })), isNoTitle);
        world.model.addReply('It is five.', isNoTitle);
        assert.equal(await MAIN.call(client, world.bridge, [newText()]), ['It is five.', 'weather']);
        assert.match(asked(world)[1]?.system ?? '', 'You are the weather agent.');
      }),
    );
});

describe('a client library for Python that keeps its conversations at the bridge', (check) => {
  checkPythonConversations(check, { ...MAIN, beside });
});

describe('a client library for Python', (check) => {
  for (const [name, client, place = MAIN] of CHATS) {
    check.needing(
      place.missing,
      `(${name}) has two turns in one session, one of them with a tool of the agent`,
      beside(place.missing, async (world) => {
        const [first, second] = [newText(), newText()];
        const before = (await sessionsOf(world)).length;
        world.model.addReply('Good day.', isNoTitle);
        scriptTool(world);
        assert.equal(await place.call(client, world.bridge, [first, second]), ['Good day.', 'I look.\n\nIt is five.']);
        assert.equal(
          asked(world)[1]?.turns.map(({ text }) => text),
          [first, 'Good day.', second],
        );
        assert.equal([asked(world).length, await callsIn(world)], [3, 1]);
        assert.is((await sessionsOf(world)).length, before + 1);
      }),
    );
  }

  check.needing(
    missing,
    '(openai) with less patience than a turn with a tool takes tries three times, and has one turn and one call of the tool',
    beside(missing, async (world) => {
      scriptSlowTool(world, 2000);
      const before = (await sessionsOf(world)).length;
      assert.equal(await clients.call('openai_clients.impatient', world.bridge, [newText()]), ['It is five.', 2]);
      assert.equal([asked(world).length, await callsIn(world)], [2, 1]);
      assert.is((await sessionsOf(world)).length, before + 1);
    }),
  );

  for (const [name, client, place = MAIN] of STRUCTURED) {
    check.needing(
      place.missing,
      `(${name}) gets an object of its class`,
      beside(place.missing, async (world) => {
        const city = { name: 'Oslo' };
        for (const name of VALUE_TOOLS)
          world.model.alwaysReply(
            answer(calls({ name, arguments: city })),
            (request) => isNoTitle(request) && JSON.stringify(request.body.tools).includes(`"name":"${name}"`),
          );
        assert.equal(await place.call(client, world.bridge, [newText()]), city);
        assert.is(asked(world).length, 1);
      }),
    );
  }

  for (const [name, client, place = MAIN] of COMPLETIONS) {
    check.needing(
      place.missing,
      `(${name}) gets the text to a prompt`,
      beside(place.missing, async (world) => {
        scriptTool(world);
        assert.equal(await place.call(client, world.bridge, [newText()]), ['I look.\n\nIt is five.']);
        assert.is(asked(world).length, 2);
      }),
    );
  }

  check.needing(
    missing,
    '(openai) that uploads a file is told to send the data in the message',
    beside(missing, async ({ bridge }) => {
      const { status, message } = (await clients.call('openai_clients.file_upload', bridge, ['Hello'])) as Refusal;
      assert.is(status, 404);
      assert.match(message, 'send the data in the message');
    }),
  );
});

/** Runs the body in a directory of its own, which is the home of what is started in it. */
const inHome = async (body: (home: string) => Promise<void>): Promise<void> => {
  const home = mkdtempSync(join(tmpdir(), 'gatehouse-client-'));
  try {
    await body(home);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
};

describe('a program for the terminal', (check) => {
  check.needing(
    missing,
    '(llm) is answered, and continues its conversation in the same session',
    beside(missing, (world) =>
      inHome(async (home) => {
        const model = {
          model_id: 'agent',
          model_name: 'demo/main',
          api_base: world.bridge.baseURL,
          api_key_name: 'bridge',
        };
        writeFileSync(join(home, 'extra-openai-models.yaml'), JSON.stringify([model]));
        const variables = { PYTHONPATH: directory, HOME: home, LLM_USER_PATH: home };
        const llm = (...words: string[]) =>
          python(['-m', 'llm', 'prompt', '-m', 'agent', '--key', BRIDGE_KEY, ...words], variables, home);
        const before = (await sessionsOf(world)).length;
        const [first, second] = [newText(), newText()];
        for (const [words, more] of [
          [first, []],
          [second, ['--continue']],
        ] as const) {
          world.model.addReply(`Answer to ${words}.`, isNoTitle);
          assert.is((await llm(words, ...more)).trim(), `Answer to ${words}.`);
        }
        assert.is((await sessionsOf(world)).length, before + 1);
        assert.equal(
          asked(world)[1]?.turns.map(({ text }) => text),
          [first, `Answer to ${first}.`, second],
        );
      }),
    ),
  );

  check.needing(
    aider.missing,
    '(aider) writes the file that the agent answers with, after one turn',
    beside(aider.missing, (world) =>
      inHome(async (home) => {
        writeFileSync(join(home, 'note.txt'), 'Hello.\n');
        world.model.alwaysReply('note.txt\n```\nGood day.\n```\n', isNoTitle);
        const quiet = [
          '--no-git',
          '--map-tokens=0',
          '--no-check-update',
          '--no-show-model-warnings',
          '--analytics-disable',
        ];
        const place = ['--model=openai/demo/main', `--openai-api-base=${world.bridge.baseURL}`];
        const words = [...place, ...quiet, '--edit-format=whole', '--yes-always', '--message', newText(), 'note.txt'];
        const variables = {
          PYTHONPATH: aider.directory,
          HOME: home,
          OPENAI_API_KEY: BRIDGE_KEY,
          // Else it asks for a list of prices first.
          LITELLM_LOCAL_MODEL_COST_MAP: 'True',
        };
        await python(['-m', 'aider', ...words], variables, home);
        assert.is(readFileSync(join(home, 'note.txt'), 'utf8'), 'Good day.\n');
        assert.is(asked(world).length, 1);
      }),
    ),
  );
});
