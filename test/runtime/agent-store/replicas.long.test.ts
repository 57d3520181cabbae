import { setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import { answer, type Piece, text } from '../../../src/demo/model/reply.ts';
import type { ReceivedRequest } from '../../../src/demo/model/request.ts';
import { startPostgres } from '../../agent/adapter/postgres/world.ts';
import { atEnd, describe } from '../../check.ts';
import type { AgentProcess } from '../agent/process.ts';
import {
  type AgentWorld,
  isNoTitle,
  messagesOf,
  newSession,
  prompt,
  promptTexts,
  type ReceivedAnswer,
  textPrompt,
  until,
  withAgentWorld,
} from '../agent/world.ts';

const WORDS = Array.from({ length: 40 }, (_, index) => `word${index} `);
const WHOLE = WORDS.join('');
const TAKEN_OVER_LIMIT_MS = 10_000;

const database = await startPostgres({ isOwn: true });
const slowly = (ms: number): Piece[] => WORDS.flatMap((word) => [{ kind: 'wait' as const, ms }, ...text(word)]);
const asks = (word: string) => (asked: ReceivedRequest) =>
  isNoTitle(asked) && JSON.stringify(asked.turns.at(-1) ?? '').includes(word);

type Pair = AgentWorld & {
  readonly a: AgentProcess;
  readonly b: AgentProcess;
  readonly one: () => Promise<AgentProcess>;
};
/** Two agent servers on a database of their own. */
const withPair = async (body: (pair: Pair) => Promise<void>): Promise<void> => {
  const url = await database.freshDatabase();
  await withAgentWorld(async (world) => {
    world.model.alwaysReply('A title');
    world.model.alwaysReply('Hello.', isNoTitle);
    world.model.alwaysReply(answer(slowly(100)), asks('slowly'));
    const one = () => world.start({ variables: { AGENT_DATABASE_URL: url } });
    const [a, b] = await Promise.all([one(), one()]);
    await body({ ...world, a, b, one });
  });
};

const answerOf = async (agent: AgentProcess, sessionID: string): Promise<ReceivedAnswer | undefined> =>
  (await messagesOf(agent, sessionID)).find(
    (reported): reported is ReceivedAnswer => reported.info.role === 'assistant',
  );
const deltasIn = (events: readonly { readonly type: string; readonly properties?: unknown }[]): string =>
  events
    .filter(({ type }) => type === 'message.part.delta')
    .map(({ properties }) => (properties as { readonly delta: string }).delta)
    .join('');
const runs = (agent: AgentProcess, sessionID: string) => () =>
  answerOf(agent, sessionID).then((reported) => promptTexts(reported?.parts ?? []).includes('word'));

describe('two agent bundles on one PostgreSQL', (check) => {
  check('start at the same time on an empty database, and serve each other their sessions', () =>
    withPair(async ({ a, b }) => {
      const { id } = await newSession(a);
      assert.is(promptTexts((await prompt(b, id, 'hello')).parts), 'Hello.');
      assert.equal(await messagesOf(a, id), await messagesOf(b, id));
    }),
  );

  check('report at one what runs at the other, word for word, and end it from there', () =>
    withPair(async ({ a, b }) => {
      const { id } = await newSession(a);
      const collected = await b.listen();
      const whole = await prompt(a, id, 'slowly');
      await collected.until('the end', ({ type }) => type === 'session.idle');
      assert.is(deltasIn(collected.seen()), WHOLE);
      assert.is(promptTexts(whole.parts), WHOLE);
      const second = prompt(a, id, 'slowly again');
      await until('it runs', async () => (await messagesOf(b, id)).length === 4);
      assert.is((await b.ask('POST', `/session/${id}/abort`)).status, 200);
      assert.is((await second).info.error?.name, 'MessageAbortedError');
      collected.leave();
    }),
  );

  check('go on within ten seconds with what one of them was killed over', () =>
    withPair(async ({ a, b }) => {
      const { id } = await newSession(a);
      const collected = await b.listen();
      void a.send('POST', `/session/${id}/prompt_async`, textPrompt('slowly')).catch(() => {});
      await until('it runs', runs(b, id));
      const killedAt = performance.now();
      await a.kill();
      const next = prompt(b, id, 'hello');
      await until('the answer of the dead one is ended', async () => {
        const reported = await answerOf(b, id);
        return reported?.info.error?.name === 'MessageAbortedError';
      });
      const tookMs = performance.now() - killedAt;
      assert.ok(tookMs < TAKEN_OVER_LIMIT_MS, `${Math.round(tookMs)} ms`);
      assert.is(promptTexts((await next).parts), 'Hello.');
      const half = promptTexts((await answerOf(b, id))?.parts ?? []);
      assert.ok(WHOLE.startsWith(half) && half.length > 0);
      assert.ok(deltasIn(collected.seen()).startsWith(half));
      console.log(`figure: a killed server's session was taken over after ${Math.round(tookMs)} ms`);
      collected.leave();
    }),
  );

  check('lose nothing and say nothing twice when PostgreSQL is restarted in the middle of an answer', () =>
    withPair(async ({ a, b }) => {
      const { id } = await newSession(a);
      const collected = await Promise.all([a.listen(), b.listen()]);
      const whole = prompt(a, id, 'slowly');
      await until('it runs', runs(b, id));
      const restarted = database.restart(1500);
      const seen = new Set<number>();
      await until('the database is away', async () => {
        const { status } = await b.ask('GET', `/session/${id}`);
        seen.add(status);
        return status === 503;
      });
      await until('the server says so', async () => (await b.ask('GET', '/ready')).status === 503);
      await restarted;
      assert.is(promptTexts((await whole).parts), WHOLE);
      await until('both are ready', async () => {
        const ready = await Promise.all([a, b].map(({ ask }) => ask('GET', '/ready')));
        return ready.every(({ status }) => status === 200);
      });
      assert.equal(
        [...seen].filter((status) => status !== 200 && status !== 503),
        [],
      );
      for (const one of collected) {
        await one.until('the end', ({ type }) => type === 'session.idle');
        assert.is(deltasIn(one.seen()), WHOLE);
        one.leave();
      }
      assert.is(promptTexts((await prompt(b, id, 'hello')).parts), 'Hello.');
    }),
  );

  check('are restarted one after the other without a failed prompt', () =>
    withPair(async (pair) => {
      let servers = [pair.a, pair.b];
      let isOver = false;
      let count = 0;
      /** As whoever stands in front does: what one does not take in goes to the next. */
      const sent = async (path: string, body: unknown): Promise<unknown> => {
        for (let tries = 0; tries < 20; tries++) {
          count += 1;
          const server = servers[count % servers.length];
          try {
            const { status, json } = (await server?.ask('POST', path, body)) ?? { status: 503, json: undefined };
            if (status === 200) return json;
            assert.is(status, 503);
          } catch (error) {
            // A connection that was refused, or closed before anything was taken in.
            if (!(error instanceof TypeError)) throw error;
          }
          await sleep(50);
        }
        throw new Error('nobody takes it in');
      };
      const chat = async (): Promise<number> => {
        const { id } = (await sent('/session', { title: 'a chat' })) as { readonly id: string };
        let answered = 0;
        while (!isOver) {
          const reported = (await sent(`/session/${id}/message`, textPrompt(`hello ${answered}`))) as ReceivedAnswer;
          assert.is(reported.info.error, undefined);
          assert.is(promptTexts(reported.parts), 'Hello.');
          answered += 1;
        }
        return answered;
      };
      const chats = Array.from({ length: 6 }, chat);
      const failed = Promise.all(chats).catch((error: unknown) => error);
      for (const old of servers) {
        await sleep(500);
        const fresh = await pair.one();
        servers = [...servers.filter((server) => server !== old), fresh];
        assert.is((await old.signal('SIGTERM')).code, 0);
      }
      await sleep(500);
      isOver = true;
      const error = await failed;
      if (error instanceof Error) throw error;
      assert.ok((await Promise.all(chats)).every((answered) => answered > 3));
    }),
  );
});

atEnd(database.stop);
