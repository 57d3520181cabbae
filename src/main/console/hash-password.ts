import { stdin, stdout } from 'node:process';
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { randomBytes } from '../../adapter/web-crypto.ts';
import { formatPasswordHash, hashPassword } from '../../console/accounts/password-hash.ts';
import { deriveScryptKey } from '../../console/adapter/scrypt.ts';

const SALT_BYTES = 16;
const SHORTEST_CHARS = 8;
const LONGEST_CHARS = 1024;

/** Takes what readline would echo of a password. */
const nowhere = () => new Writable({ write: (_chunk, _encoding, done) => done() });

/** Asks on the terminal, without showing what is typed. Undefined when the person gives up. */
const askOnTerminal = async (question: string): Promise<string | undefined> => {
  process.stderr.write(question);
  const lines = createInterface({ input: stdin, output: nowhere(), terminal: true });
  const givenUp = new Promise<undefined>((resolve) => {
    for (const event of ['SIGINT', 'close'] as const) lines.once(event, () => resolve(undefined));
  });
  const answer = await Promise.race([lines.question(''), givenUp]);
  lines.close();
  process.stderr.write('\n');
  return answer;
};

/** The first line of standard input. */
const readFirstLine = async (): Promise<string> => {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stdin) {
    chunks.push(Buffer.from(chunk));
    bytes += chunk.length;
    if (bytes > LONGEST_CHARS * 4) break;
  }
  return Buffer.concat(chunks).toString('utf8').split(/\r?\n/, 1)[0] ?? '';
};

const refuse = (message: string): number => {
  process.stderr.write(`gatehouse console hash-password: ${message}\n`);
  return 1;
};

/**
 * Prints the hash of a password for CONSOLE_USERS: it is typed twice on a terminal, or is the first line of standard input. An
 * argument would be in the list of processes and in the shell's history. Returns the exit code.
 */
export const runHashPassword = async (args: readonly string[]): Promise<number> => {
  if (args.length > 0)
    return refuse('expected no arguments: type the password when asked for it, or give it on standard input');
  const isTerminal = stdin.isTTY === true;
  const password = isTerminal ? await askOnTerminal('Password: ') : await readFirstLine();
  if (password === undefined) return refuse('given up');
  const { length } = [...password];
  if (length < SHORTEST_CHARS || length > LONGEST_CHARS)
    return refuse(`expected ${SHORTEST_CHARS} to ${LONGEST_CHARS} characters`);
  if (isTerminal && (await askOnTerminal('The same again: ')) !== password) return refuse('the two are not the same');
  const salt = Buffer.from(randomBytes(SALT_BYTES)).toString('base64url');
  const hash = await hashPassword(password, salt, deriveScryptKey);
  stdout.write(`${formatPasswordHash(hash)}\n`);
  return 0;
};
