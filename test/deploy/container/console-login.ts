import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import type { Engine } from './engine.ts';
import { imageOf } from './images.ts';

/** The hash of a password, as the console's image makes it. */
export const hashInImage = async ({ storage, variables }: Engine, password: string): Promise<string> => {
  const words = [...storage, 'run', '--rm', '--interactive', imageOf('console'), 'hash-password'];
  const child = spawn('podman', words, { env: variables, stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(`${password}\n`);
  return (await text(child.stdout)).trim();
};

/** Logs in at a console as its page does. What it gives asks with the cookie, and reads an answer of JSON. */
export const logIn = async (
  console: string,
  user: { readonly name: string; readonly password: string },
): Promise<(path: string) => Promise<unknown>> => {
  const { csrf } = (await (await fetch(`${console}/api/me`)).json()) as { csrf: string };
  const response = await fetch(`${console}/api/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-csrf': csrf },
    body: JSON.stringify(user),
  });
  if (response.status !== 204) throw new Error(`no login: ${response.status} ${await response.text()}`);
  const [cookie = ''] = (response.headers.get('set-cookie') ?? '').split(';');
  return async (path) => {
    const answer = await fetch(console + path, { headers: { cookie } });
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  };
};
