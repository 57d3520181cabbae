import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { runEval } from '../../src/main/eval.ts';
import { COMPILE_CACHE } from '../compile-cache.ts';
import { fileOf, moderationOf, type Script, startGateway } from './world.ts';

export const KEY = 'sk-secret-of-the-gateway';
const RUN = `import { runEval } from ${JSON.stringify(new URL('../../src/main/eval.ts', import.meta.url).href)};
process.exitCode = await runEval(process.argv.slice(1));`;

type Ended = { readonly code: number | null; readonly stdout: string; readonly stderr: string };

/** Runs the command as a program of its own, with the key as a variable. */
export const start = (...words: readonly string[]) => {
  const child = spawn(process.execPath, ['--no-warnings', '--input-type=module', '-e', RUN, '--', ...words], {
    env: { ...process.env, ...COMPILE_CACHE, MODERATION_API_KEY: KEY },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk) => {
    stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  const ended = new Promise<Ended>((resolve) => child.on('close', (code) => resolve({ code, stdout, stderr })));
  return { child, ended };
};

/** Runs the command in this process: as good where nothing is killed, and much cheaper. */
export const run = async (...words: readonly string[]): Promise<Ended> => {
  let stdout = '';
  let stderr = '';
  const code = await runEval(words, {
    write(text) {
      stdout += text;
    },
    writeError(text) {
      stderr += text;
    },
    terminal: undefined,
    variables: { MODERATION_API_KEY: KEY },
  });
  return { code, stdout, stderr };
};

type Gateway = Awaited<ReturnType<typeof startGateway>>;

/** A gateway that follows a script for the length of `body`. */
export const withGateway = (script: Script, body: (gateway: Gateway) => Promise<void>) => async () => {
  const gateway = await startGateway(script);
  try {
    await body(gateway);
  } finally {
    gateway.close();
  }
};

export const jsonl = (...rows: readonly object[]) =>
  fileOf('data.jsonl', rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
export const outOf = (file: string) => `${file}.moderation-fast.results.jsonl`;
export const resultsOf = (file: string): { id: string; status: string }[] =>
  readFileSync(outOf(file), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
export const hateful: Script = (text) => ({ body: moderationOf(text.includes('hate') ? { hate: 0.9 } : {}) });

export const ROWS = [
  { id: 'a', text: 'hate one', labels: { hate: 1 } },
  { id: 'b', text: 'kind two', labels: { hate: 0 } },
  { id: 'c', text: 'kind three', labels: { hate: 1 } },
];
