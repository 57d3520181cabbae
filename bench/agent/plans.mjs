import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { opencodeProgram } from './opencode.mjs';

/** One model, the same for both. Nobody is asked about anything, and nothing outside is looked for. */
const configOf = (backendUrl) => ({
  model: 'bench/main',
  small_model: 'bench/main',
  permission: 'allow',
  provider: {
    bench: {
      npm: '@ai-sdk/openai-compatible',
      name: 'Bench',
      options: { baseURL: `${backendUrl}/v1`, apiKey: 'bench' },
      models: { main: { name: 'Main', limit: { context: 100_000, output: 8000 } } },
    },
  },
});

/** How to start our bundle on a port, in a directory, with its store there. */
export const ourPlan = (bundle, directory, backendUrl) => (port) => ({
  args: [bundle],
  directory,
  env: {
    HOME: directory,
    HOST: '127.0.0.1',
    PORT: String(port),
    LOG_LEVEL: 'warn',
    AGENT_CONFIG_CONTENT: JSON.stringify(configOf(backendUrl)),
    AGENT_DATABASE_URL: `sqlite:${join(directory, 'agent.db')}`,
  },
});

const peerPlan = async (directory, backendUrl) => {
  const command = await opencodeProgram();
  return (port) => ({
    command,
    args: ['serve', '--hostname=127.0.0.1', `--port=${port}`],
    directory,
    env: {
      HOME: directory,
      XDG_CONFIG_HOME: join(directory, 'config'),
      XDG_DATA_HOME: join(directory, 'data'),
      XDG_CACHE_HOME: join(directory, 'cache'),
      XDG_STATE_HOME: join(directory, 'state'),
      // Its snapshots and its language servers are left out, as we have none: the figures are those of its fastest form.
      OPENCODE_CONFIG_CONTENT: JSON.stringify({
        ...configOf(backendUrl),
        share: 'disabled',
        autoupdate: false,
        snapshot: false,
        lsp: false,
        formatter: false,
      }),
      OPENCODE_DISABLE_MODELS_FETCH: 'true',
      OPENCODE_DISABLE_AUTOUPDATE: 'true',
      OPENCODE_DISABLE_LSP_DOWNLOAD: 'true',
      OPENCODE_DISABLE_DEFAULT_PLUGINS: 'true',
      OPENCODE_DISABLE_CLAUDE_CODE: 'true',
      // What it may want to load in spite of that ends here at once.
      HTTP_PROXY: 'http://127.0.0.1:9',
      HTTPS_PROXY: 'http://127.0.0.1:9',
      NO_PROXY: '127.0.0.1,localhost',
    },
  });
};

const inOwn = (directory) => {
  mkdirSync(directory, { recursive: true });
  return directory;
};

/** Who is measured. `plan` gives how to start it on a port; `missing` says why there is none. */
export const serversIn = async (bundle, directory, backendUrl) => {
  const servers = [{ name: 'gatehouse', plan: ourPlan(bundle, inOwn(join(directory, 'gatehouse')), backendUrl) }];
  try {
    servers.push({ name: 'opencode', plan: await peerPlan(inOwn(join(directory, 'opencode')), backendUrl) });
  } catch (error) {
    servers.push({ name: 'opencode', missing: error.message });
  }
  return servers;
};
