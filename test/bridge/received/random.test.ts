import { describe, thorough } from '../../check.ts';
import { KEY } from '../harness/world.ts';
import { type Asked, play, type Said } from './play.ts';
import { createRandomClient } from './random-client.ts';

const PLAYS = Number(process.env.PLAYS ?? thorough(5, 60));
const FIRST = Number(process.env.FIRST_PLAY ?? 1);
const REQUESTS = 20;

/** A request in one line, for whoever looks for what went wrong. */
const lineOf = ({ messages, input, headers, key, after, first }: Asked): string =>
  JSON.stringify({ first: first?.name, isOther: key !== KEY, ...headers, after, messages, input });

const playRandom = async (seed: number): Promise<void> => {
  const ask = createRandomClient(seed);
  const lines: string[] = [];
  const request = (said: readonly Said[]): Asked => {
    const asked = ask(said);
    lines.push(lineOf(asked));
    return asked;
  };
  await play({ name: `${seed}`, requests: Array(REQUESTS).fill(request) }).catch((error: unknown) => {
    console.log(`play ${seed}:\n${lines.join('\n')}`);
    throw error;
  });
};

describe('what a model receives of a client that does anything', (check) =>
  check('is what that client has sent', async () => {
    for (let seed = FIRST; seed < FIRST + PLAYS; seed++) await playRandom(seed);
  }));
