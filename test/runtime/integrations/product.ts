import { setTimeout as wait } from 'node:timers/promises';
import type { Running } from '../processes.ts';

const START_LIMIT_MS = 90_000;
const LOOK_EVERY_MS = 100;

/** Waits until a product that was started answers at an address. Fails with what it has written when it ends or takes too long. */
export const answering = async (running: Running, url: string): Promise<void> => {
  const lastAt = performance.now() + START_LIMIT_MS;
  let hasEnded = false;
  void running.ended.then(() => {
    hasEnded = true;
  });
  while (performance.now() < lastAt && !hasEnded) {
    const isUp = await fetch(url).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isUp) return;
    await wait(LOOK_EVERY_MS);
  }
  throw new Error(`no answer at ${url}: ${(running.stdout() + running.stderr()).slice(-2000)}`);
};

/** What a product answers to a chat: its status and its whole body. */
export type Answered = { readonly status: number; readonly text: string };

/** Sends a body to a product. */
export const post = async (
  url: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answered> => {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  return { status: answer.status, text: await answer.text() };
};
