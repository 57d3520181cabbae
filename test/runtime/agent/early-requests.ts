import { copyFileSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import { answer } from '../../../src/demo/model/reply.ts';
import type { Check } from '../../check.ts';
import { freePort } from '../processes.ts';
import { beginAgent, PASSWORD, USER } from './process.ts';
import { type AgentWorld, inAgentWorld, newSession, textPrompt, until } from './world.ts';

const UNFINISHED = 60;
const ANSWER_LIMIT_MS = 5000;

/** What became of one request on a connection of its own. */
const knock = (port: number, path: string): Promise<string> =>
  new Promise((settle) => {
    const call = get({ port, path, host: '127.0.0.1', agent: false, auth: `${USER}:${PASSWORD}` }, (response) => {
      const { statusCode, headers } = response;
      response.resume();
      const wait = statusCode === 503 && path !== '/ready' ? ` after ${headers['retry-after']}` : '';
      response.on('close', () => settle(`${statusCode}${wait}`));
    });
    call.setTimeout(ANSWER_LIMIT_MS, () => {
      settle('no answer');
      call.destroy();
    });
    call.on('error', (error: NodeJS.ErrnoException) => settle(error.code ?? error.message));
  });

/** Knocks all the time until the server is ready, and tells each kind of answer with its number. */
const knockUntilReady = async (port: number): Promise<Readonly<Record<string, number>>> => {
  const answers: Record<string, number> = {};
  const waiting: Promise<void>[] = [];
  let isReady = false;
  const startedAt = performance.now();
  while (!isReady && performance.now() - startedAt < 20_000) {
    for (const path of ['/global/health', '/ready', '/session']) {
      const one = knock(port, path).then((answer) => {
        answers[answer] = (answers[answer] ?? 0) + 1;
        if (answer === '200' && path === '/session') isReady = true;
      });
      waiting.push(one);
    }
    await sleep(6);
  }
  await Promise.all(waiting);
  return answers;
};

/** Leaves a database behind in which a start has something to end first. */
const leaveUnfinished = async ({ start, model }: AgentWorld): Promise<void> => {
  model.alwaysReply(answer([{ kind: 'hang' }]));
  const agent = await start();
  const made = Array.from({ length: UNFINISHED }, async () => {
    const { id } = await newSession(agent);
    await agent.ask('POST', `/session/${id}/prompt_async`, textPrompt('hello'));
  });
  await Promise.all(made);
  await until('all are under way', () => model.requests().length === UNFINISHED);
  await agent.kill();
};

/** Starts the agent bundle so many times, while clients send requests from the first moment. */
export const checkEarlyRequests = (check: Check, starts: number): void =>
  check(
    `answers every connection that it takes, in ${starts} starts`,
    inAgentWorld(async (world) => {
      const { variables, directory, database } = world;
      await leaveUnfinished(world);
      const answers: Record<string, number> = {};
      for (let count = 0; count < starts; count++) {
        const port = await freePort();
        // Each has as much to end as the first one.
        const own = join(directory, `start-${count}.db`);
        for (const ending of ['', '-wal']) copyFileSync(database + ending, own + ending);
        const settings = { NODE_COMPILE_CACHE: join(directory, 'compiled'), AGENT_DATABASE_URL: `sqlite:${own}` };
        const running = beginAgent({ directory, variables: variables({ PORT: String(port), ...settings }) });
        const seen = await knockUntilReady(port);
        for (const [answer, times] of Object.entries(seen)) answers[answer] = (answers[answer] ?? 0) + times;
        if (count === 0) {
          running.signal('SIGTERM');
          await running.ended;
        } else await running.kill();
      }
      console.log(`what ${starts} starts answered: ${JSON.stringify(answers)}`);
      const strange = Object.keys(answers).filter(
        (answer) => !['ECONNREFUSED', '200', '503', '503 after 1'].includes(answer),
      );
      assert.equal(strange, []);
      assert.ok((answers['200'] ?? 0) >= starts);
      assert.ok((answers['503 after 1'] ?? 0) > 0, 'nobody came too early');
    }),
  );
