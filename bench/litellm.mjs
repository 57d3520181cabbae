import { execFile } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

const VERSION = '1.106.2';
// Other versions of FastAPI and Starlette lack what this one imports.
const PACKAGES = [`litellm[proxy]==${VERSION}`, 'fastapi==0.165.0', 'starlette==1.10.0'];
const INSTALL_LIMIT_MS = 600_000;

const home = join(import.meta.dirname, 'peers', `litellm-${VERSION}`);
const python = join(home, 'bin', 'python');
const installed = join(home, 'installed');

const run = promisify(execFile);

/** Installs the peer in an environment of its own on first use. Rejects where there is no Python, or no registry. */
const install = async () => {
  if (existsSync(installed)) return;
  try {
    await run('python3', ['-m', 'venv', home], { timeout: INSTALL_LIMIT_MS });
    await run(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...PACKAGES], {
      timeout: INSTALL_LIMIT_MS,
    });
  } catch (error) {
    throw new Error(
      `cannot install ${PACKAGES[0]}: ${(error.stderr ?? '').trim().split('\n').at(-1) || error.message}`,
    );
  }
  writeFileSync(installed, '');
};

/** The peer as a proxy to one model of the backend. */
export const litellmPlan = async (port, backendUrl) => {
  await install();
  const config = join(home, `config-${port}.json`);
  const model = { model: 'openai/bench', api_base: `${backendUrl}/v1`, api_key: 'bench' };
  // YAML is a superset of JSON.
  writeFileSync(config, JSON.stringify({ model_list: [{ model_name: 'bench', litellm_params: model }] }));
  return {
    command: join(home, 'bin', 'litellm'),
    args: ['--config', config, '--host', '127.0.0.1', '--port', String(port), '--num_workers', '1'],
    env: {
      HOME: home,
      LITELLM_LOG: 'ERROR',
      LITELLM_TELEMETRY: 'False',
      LITELLM_LOCAL_MODEL_COST_MAP: 'True',
      // Else it asks for a key of its own, which no other row does.
      LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY: 'true',
    },
    readyPath: '/health/liveliness',
  };
};
