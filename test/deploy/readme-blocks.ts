import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** A shell block that is marked as one that runs as it stands. */
type Block = {
  readonly text: string;
  /** The ports on which it starts to serve, if any; it does not end by itself then. */
  readonly ports: readonly number[];
  readonly expected: string | undefined;
};

const MARK = /^<!-- runnable(?:: (.*))? -->$/;
const SERVES = /\bserves (\d+(?: \d+)*)\b/;
const EXPECTS = /\bexpects "([^"]*)"/;
const BLOCK_LIMIT_MS = 200_000;
const ASK_AGAIN_MS = 100;

/** The marked shell blocks of a page, in order. A mark without a shell block below it is an error. */
export const runnableBlocks = (page: string): readonly Block[] => {
  const blocks: Block[] = [];
  const lines = page.split('\n');
  for (const [index, line] of lines.entries()) {
    const mark = MARK.exec(line);
    if (mark === null) continue;
    const end = lines.indexOf('```', index + 2);
    if (lines[index + 1] !== '```sh' || end === -1) throw new Error(`Line ${index + 1} marks no shell block`);
    const [, more = ''] = mark;
    blocks.push({
      text: lines.slice(index + 2, end).join('\n'),
      ports: SERVES.exec(more)?.[1]?.split(' ').map(Number) ?? [],
      expected: EXPECTS.exec(more)?.[1],
    });
  }
  return blocks;
};

const isServed = (port: number): Promise<boolean> =>
  new Promise((settle) => {
    const socket = connect(port, '127.0.0.1');
    const end = (isOpen: boolean) => {
      socket.destroy();
      settle(isOpen);
    };
    socket.once('connect', () => end(true)).once('error', () => end(false));
  });

/** Asks until the time is up. */
const until = async (what: string, holds: () => Promise<boolean> | boolean): Promise<void> => {
  const startedAt = performance.now();
  while (!(await holds())) {
    if (performance.now() - startedAt > BLOCK_LIMIT_MS) throw new Error(`${what} takes too long`);
    await sleep(ASK_AGAIN_MS);
  }
};

/** One shell: what a block sets is there for the next. It ends with the first line that fails. */
const openShell = (directory: string, variables: Readonly<Record<string, string | undefined>>) => {
  const files = mkdtempSync(join(tmpdir(), 'gatehouse-blocks-'));
  const child = spawn('bash', [], { cwd: directory, env: variables, stdio: ['pipe', 'pipe', 'pipe'] });
  let output = '';
  let isOver = false;
  let count = 0;
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  const ended = once(child, 'close').then(() => {
    isOver = true;
  });
  child.stdin.on('error', () => {});
  // With a process group for each block in the background.
  child.stdin.write('set -em\n');
  const outputText = (pattern: RegExp, from: number) => pattern.exec(output.slice(from));
  return {
    /** Runs a block, in the background if it serves; gives what it wrote, or the process group to end. */
    async run({ text, ports }: Block): Promise<{ readonly output: string; readonly group: number }> {
      count += 1;
      const from = output.length;
      const file = join(files, `${count}.sh`);
      writeFileSync(file, `${text}\n`);
      const mark = new RegExp(`^#block ${count} (\\d+)$`, 'm');
      const background = ports.length === 0 ? '' : ' &';
      child.stdin.write(`. ${file} </dev/null${background}\nprintf '\\n#block ${count} %s\\n' "\${!:-0}"\n`);
      await until(text, () => isOver || outputText(mark, from) !== null);
      const reported = outputText(mark, from);
      if (reported === null) throw new Error(`This block failed:\n${text}\nThe shell wrote:\n${output.slice(from)}`);
      return { output: output.slice(from, from + reported.index), group: Number(reported[1]) };
    },
    output: () => output,
    async close(): Promise<void> {
      child.stdin.end();
      child.kill('SIGKILL');
      await ended;
      rmSync(files, { recursive: true, force: true });
    },
  };
};

const signalGroup = (group: number, signal: NodeJS.Signals | 0): boolean => {
  try {
    return process.kill(-group, signal);
  } catch {
    return false;
  }
};

type Server = { readonly group: number; readonly ports: readonly number[] };

const isServedNowhere = async (ports: readonly number[]): Promise<boolean> =>
  !(await Promise.all(ports.map(isServed))).includes(true);
const isServedEverywhere = async (ports: readonly number[]): Promise<boolean> =>
  !(await Promise.all(ports.map(isServed))).includes(false);

const endServer = async ({ group, ports }: Server): Promise<void> => {
  signalGroup(group, 'SIGTERM');
  await until(`The end of what serves ${ports}`, () => isServedNowhere(ports)).finally(() =>
    signalGroup(group, 'SIGKILL'),
  );
};

/**
 * Runs the blocks one after the other in one shell. What one serves is there for those after it, until another one serves
 * there. Whatever they started is ended, also on failure.
 */
export const runBlocks = async (
  blocks: readonly Block[],
  directory: string,
  variables: Readonly<Record<string, string | undefined>>,
): Promise<void> => {
  const shell = openShell(directory, variables);
  let servers: readonly Server[] = [];
  const endThose = async (isMeant: (server: Server) => boolean): Promise<void> => {
    const [ending, staying] = [servers.filter(isMeant), servers.filter((server) => !isMeant(server))];
    servers = staying;
    for (const server of ending) await endServer(server);
  };
  try {
    for (const block of blocks) {
      const startedAt = performance.now();
      const { ports, expected } = block;
      const isServing = ports.length > 0;
      await endThose((server) => server.ports.some((port) => ports.includes(port)));
      // Another test may have them for a while.
      if (isServing) await until(`Ports ${ports} to become free`, () => isServedNowhere(ports));
      const { output, group } = await shell.run(block);
      if (isServing) {
        servers = [...servers, { group, ports }];
        await until(`Ports ${ports}`, async () => (await isServedEverywhere(ports)) || !signalGroup(group, 0));
        if (!(await isServedEverywhere(ports)))
          throw new Error(`Nothing serves ${ports}. The shell wrote:\n${shell.output()}`);
      }
      if (expected !== undefined && !(isServing ? shell.output() : output).includes(expected))
        throw new Error(`Expected ${expected} of:\n${block.text}\nIt wrote:\n${output}`);
      const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
      console.log(`figure: ${block.text.split('\n')[0]} took ${seconds} s`);
    }
  } finally {
    await endThose(() => true).finally(() => shell.close());
  }
};
