import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { answer, calls } from '../../../src/demo/model/reply.ts';
import { describe } from '../../check.ts';
import { isNoTitle } from '../agent/world.ts';
import { asked, newText, scriptTool, sessionsOf } from '../bridge/clients.ts';
import { BRIDGE_KEY, type BridgeProcess, sharedBridgeWorld } from '../bridge/world.ts';
import { run, type Variables } from '../processes.ts';
import { installPythonPackages } from './python-packages.ts';
import { callsIn, scriptSlowTool } from './slow-tool.ts';

// Client libraries and programs for Python, in the versions of the two lists. Aider pins what the others want newer.

const HERE = import.meta.dirname;
const { directory, missing } = installPythonPackages('clients', ['-r', join(HERE, 'requirements.txt')]);
const aider = installPythonPackages('aider', ['-r', join(HERE, 'requirements-aider.txt')]);
const beside = sharedBridgeWorld();

const python = async (words: readonly string[], variables: Variables, place: string = tmpdir()): Promise<string> => {
  const { code, stdout, stderr } = await run('python3', words, { variables, directory: place });
  assert.is(code, 0, (stdout + stderr).slice(-3000));
  return stdout;
};

/** What the client printed: the answers, or the refusal that it raised. */
const chatOver = async (client: string, { baseURL }: BridgeProcess, texts: readonly string[]): Promise<unknown> =>
  JSON.parse(
    await python([join(HERE, 'clients.py'), client, baseURL, BRIDGE_KEY, ...texts], { PYTHONPATH: directory }),
  );

const CLIENTS = [
  ['openai', 'openai_chat'],
  ['openai, streamed', 'openai_stream'],
  ['LangChain', 'langchain'],
  ['LangChain, streamed', 'langchain_stream'],
  ['pydantic-ai', 'pydantic_ai'],
  ['instructor', 'instructor'],
] as const;

describe('a client library for Python', (check) => {
  for (const [name, client] of CLIENTS) {
    check.needing(
      missing,
      `(${name}) has two turns in one session, one of them with a tool of the agent`,
      beside(async (world) => {
        const [first, second] = [newText(), newText()];
        const before = (await sessionsOf(world)).length;
        world.model.addReply('Good day.', isNoTitle);
        scriptTool(world);
        assert.equal(await chatOver(client, world.bridge, [first, second]), ['Good day.', 'I look.\n\nIt is five.']);
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
    beside(async (world) => {
      scriptSlowTool(world, 2000);
      const before = (await sessionsOf(world)).length;
      assert.equal(await chatOver('openai_impatient', world.bridge, [newText()]), ['It is five.', 2]);
      assert.equal([asked(world).length, await callsIn(world)], [2, 1]);
      assert.is((await sessionsOf(world)).length, before + 1);
    }),
  );

  const STRUCTURED = [
    ['openai with a required tool', 'openai_tool_required'],
    ['openai with a parsed answer', 'openai_parse'],
    ['LangChain with structured output by a function call', 'langchain_structured'],
    ['LangChain with structured output as it is by default', 'langchain_schema'],
    ['pydantic-ai with an output type', 'pydantic_ai_structured'],
    ['instructor with a response model', 'instructor_structured'],
  ] as const;
  for (const [name, client] of STRUCTURED) {
    check.needing(
      missing,
      `(${name}) gets an object of its class`,
      beside(async (world) => {
        const city = { name: 'Oslo' };
        world.model.addReply(answer(calls({ name: 'StructuredOutput', arguments: city })), isNoTitle);
        assert.equal(await chatOver(client, world.bridge, [newText()]), city);
        assert.is(asked(world).length, 1);
      }),
    );
  }
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
    beside((world) =>
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
    beside((world) =>
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
