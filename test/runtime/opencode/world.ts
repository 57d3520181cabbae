import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CHILD_FILE } from '../../agent/tools/mcp/child.ts';
import { type AgentProcess, PASSWORD, USER } from '../agent/process.ts';
import { type AgentWorld, withAgentWorld } from '../agent/world.ts';
import { sharedWorld, untilToolsAreThere } from '../bridge/world.ts';
import { ROOT, type Running, start, type Variables } from '../processes.ts';

const PACKAGE = join(ROOT, 'bench/peers/opencode/node_modules/opencode-ai/package.json');
/** Outside CI nobody waits for an installation. */
export const missingOpencode = existsSync(PACKAGE) || process.env.CI !== undefined ? undefined : 'opencode';

const CONFIG = {
  permission: { '*': 'allow', tools_sleep: 'ask', tools_echo: 'ask' },
  agent: { reviewer: { mode: 'primary', description: 'Looks at things' } },
  command: { weigh: { template: 'Weigh $1 against $2.', description: 'Weighs two things', agent: 'reviewer' } },
  mcp: { tools: { type: 'local', command: [process.execPath, CHILD_FILE] } },
};

type Installer = { readonly opencodeProgram: () => Promise<string> };

/** The path of the program, which is installed if it is missing. */
export const findOpencode = async (): Promise<string> =>
  ((await import(join(ROOT, 'bench/agent/opencode.mjs'))) as Installer).opencodeProgram();

export type OpencodeWorld = AgentWorld & {
  readonly agent: AgentProcess;
  readonly program: string;
  /** An empty directory for the program to be in, with a home of its own beside it. */
  readonly work: string;
  readonly programVariables: Variables;
  /** Starts the program; whoever starts it ends it, or waits for its end. */
  readonly beginProgram: (words: readonly string[], more?: Variables) => Running;
};

/** The program reads nothing of the user who runs the tests, and its requests to other machines fail at once. */
export const variablesIn = (directory: string): Variables => ({
  HOME: directory,
  XDG_CONFIG_HOME: join(directory, 'config'),
  XDG_DATA_HOME: join(directory, 'data'),
  XDG_CACHE_HOME: join(directory, 'cache'),
  XDG_STATE_HOME: join(directory, 'state'),
  OPENCODE_SERVER_USERNAME: USER,
  OPENCODE_SERVER_PASSWORD: PASSWORD,
  OPENCODE_DISABLE_MODELS_FETCH: 'true',
  OPENCODE_DISABLE_AUTOUPDATE: 'true',
  OPENCODE_DISABLE_LSP_DOWNLOAD: 'true',
  OPENCODE_DISABLE_DEFAULT_PLUGINS: 'true',
  OPENCODE_DISABLE_CLAUDE_CODE: 'true',
  HTTP_PROXY: 'http://127.0.0.1:9',
  HTTPS_PROXY: 'http://127.0.0.1:9',
  NO_PROXY: '127.0.0.1,localhost',
});

const withOpencode = async (body: (world: OpencodeWorld) => Promise<void>): Promise<void> => {
  const program = await findOpencode();
  const home = mkdtempSync(join(tmpdir(), 'agent-opencode-'));
  const work = join(home, 'work');
  mkdirSync(work);
  const programVariables = variablesIn(home);
  try {
    await withAgentWorld(async (world) => {
      const agent = await world.start({ config: CONFIG });
      await untilToolsAreThere(agent);
      const beginProgram: OpencodeWorld['beginProgram'] = (words, more = {}) =>
        start(program, words, { directory: work, variables: { ...programVariables, ...more } });
      await body({ ...world, agent, program, work, programVariables, beginProgram });
    });
  } finally {
    rmSync(home, { recursive: true, force: true, maxRetries: 5 });
  }
};

/** The real program of OpenCode, a model and the built agent server with tools, one of each for all checks of a file. */
export const besideOpencode = () => sharedWorld(withOpencode);
