import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { BRIDGE_KEY, type BridgeProcess } from '../bridge/world.ts';

/** Has a chat over a client library: `client` is a function of `python/`, as `module.name`. Gives what it returned, or the error. */
export type CallPythonClient = (client: string, bridge: BridgeProcess, texts: readonly string[]) => Promise<unknown>;

type PythonClients = { readonly call: CallPythonClient; readonly end: () => Promise<void> };

const SERVER = join(import.meta.dirname, 'python/serve.py');
const LIMIT_MS = 60_000;
const COMPLAINTS_CHARS = 3000;

const startServer = (directory: string) => {
  const { PATH, HOME } = process.env;
  // Neither proxies nor keys of whoever runs the tests.
  const env = { PATH, HOME, PYTHONPATH: directory, PYTHONDONTWRITEBYTECODE: '1' };
  const child = spawn('python3', [SERVER], { cwd: tmpdir(), env, stdio: 'pipe' });
  process.on('exit', () => child.kill('SIGKILL'));
  const exited = once(child, 'exit');
  let complaints = '';
  child.stderr.on('data', (data) => {
    complaints = (complaints + data).slice(-COMPLAINTS_CHARS);
  });
  const lines = createInterface({ input: child.stdout });
  return {
    async ask(line: string): Promise<string> {
      const answered = Promise.withResolvers<string>();
      const fail = (why: string) => answered.reject(new Error(`${why}: ${complaints}`));
      const timer = setTimeout(fail, LIMIT_MS, 'the client takes too long');
      void exited.then(() => fail('the clients have ended'));
      lines.once('line', answered.resolve);
      child.stdin.write(`${line}\n`);
      try {
        return await answered.promise;
      } finally {
        clearTimeout(timer);
        lines.off('line', answered.resolve);
      }
    },
    async end(): Promise<void> {
      child.kill('SIGKILL');
      await exited;
    },
  };
};

/** Runs clients in one process of Python, which starts with the first call: importing the libraries takes seconds. */
export const createPythonClients = (directory: string): PythonClients => {
  let server: ReturnType<typeof startServer> | undefined;
  return {
    async call(client, { baseURL }, texts) {
      server ??= startServer(directory);
      const [module, name] = client.split('.');
      const request = { module, name, base_url: baseURL, key: BRIDGE_KEY, texts };
      const answer = JSON.parse(await server.ask(JSON.stringify(request))) as { readonly raised?: string } | null;
      if (answer?.raised !== undefined) throw new Error(answer.raised);
      return answer;
    },
    end: async () => server?.end(),
  };
};
