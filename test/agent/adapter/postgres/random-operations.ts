import { setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import type { Session } from '../../../../src/agent/protocol/types.ts';
import type { MessageWithParts } from '../../../../src/agent/store/store.ts';
import type { Check } from '../../../check.ts';
import { calling, outcome, prompt, replying, type Script, toolNamed, type WorldGiven } from '../../harness/world.ts';
import { followEvents } from './event-follower.ts';
import { type Replica, startReplica } from './replicas.ts';
import { dropSchema, startPostgres } from './world.ts';

const LANES = 8;
const FOLLOWERS = 3;
/** A server dies after so many operations. */
const DEATH_EVERY = 143;
/** How long the database is away, once. */
const RESTART_MS = 500;

const lastLines = (request: Parameters<Script>[0]): string => JSON.stringify(request.messages.at(-1) ?? '');
/** Says back what it was told; slowly, or by way of a question, where it was told to. */
const script: Script = async function* (request, signal) {
  const words = lastLines(request);
  if (/ ask /.test(words)) return yield* calling({ name: 'pay', input: {} })(request, signal);
  const named = /prompt-\d+/.exec(JSON.stringify(request.messages.filter(({ role }) => role === 'user').at(-1)))?.[0];
  if (/ slow /.test(words)) await sleep(100, undefined, { signal });
  yield* replying('re ', named ?? 'nothing')(request, signal);
};
const GIVEN: WorldGiven = {
  scripts: [script],
  titler: null,
  rules: [{ permission: '*', pattern: '*', action: 'ask' }],
  tools: [toolNamed('pay', async () => outcome('paid'))],
};

type Sent = { readonly name: string; readonly sessionID: string; outcome: 'answered' | 'aborted' | 'unknown' };
type World = {
  readonly replicas: Replica[];
  readonly any: () => Replica;
  readonly sessions: Set<string>;
  readonly deleted: Set<string>;
  readonly sent: Sent[];
  readonly pick: <T>(list: readonly T[]) => T | undefined;
};

/** A small generator whose numbers a failing run can be repeated with. */
const randomFrom = (seed: number) => {
  let state = seed;
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) | 0;
    return ((state ^ (state >>> 13)) >>> 0) / 2 ** 32;
  };
};

const sendPrompt = async ({ any, sessions, sent, pick }: World, count: number): Promise<void> => {
  const sessionID = pick([...sessions]);
  if (sessionID === undefined) return;
  const name = `prompt-${count}`;
  const kind = pick(['', '', 'slow', 'ask']) ?? '';
  const one: Sent = { name, sessionID, outcome: 'unknown' };
  sent.push(one);
  const { status, text } = await any().whole('POST', `/session/${sessionID}/message`, prompt(`${name} ${kind} .`));
  if (status !== 200) return;
  const { info, parts } = JSON.parse(text) as MessageWithParts;
  if (info?.role !== 'assistant') return;
  if (info.error?.name === 'MessageAbortedError') one.outcome = 'aborted';
  else if (info.error === undefined) {
    one.outcome = 'answered';
    const outputText = parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
    if (outputText !== '') assert.is(outputText, `re ${name}`, 'an answer to another prompt');
  }
};

const create = async ({ any, sessions }: World, count: number): Promise<void> => {
  const { text } = await any().whole('POST', '/session', { title: `session ${count}` });
  sessions.add((JSON.parse(text) as Session).id);
};
const removeSession = async ({ any, sessions, deleted }: World, id: string): Promise<void> => {
  sessions.delete(id);
  const { status, text } = await any().whole('DELETE', `/session/${id}`);
  if (status === 200) deleted.add(id);
  // What was asked while the database was away may have been done, or not.
  else assert.ok(status === 404 || status === 503, `${status} ${text}`);
};
const replyToOne = async ({ any, pick }: World, reply: string): Promise<void> => {
  const asked = JSON.parse((await any().whole('GET', '/permission')).text) as readonly { readonly id: string }[];
  const id = pick(asked)?.id;
  if (id !== undefined) await any().whole('POST', `/permission/${id}/reply`, { reply });
};

const operate = async (world: World, count: number): Promise<void> => {
  const { any, sessions, pick } = world;
  const session = pick([...sessions]);
  if (session === undefined) return create(world, count);
  const kinds = [...Array(12).fill('prompt'), 'abort', 'abort', 'patch', 'patch', 'reply', 'create', 'remove'];
  switch (pick(kinds)) {
    case 'prompt':
      return sendPrompt(world, count);
    case 'abort':
      return void (await any().whole('POST', `/session/${session}/abort`));
    case 'patch':
      return void (await any().whole('PATCH', `/session/${session}`, { metadata: { count } }));
    case 'reply':
      return replyToOne(world, pick(['once', 'reject']) ?? 'once');
    case 'create':
      return sessions.size < 12 ? create(world, count) : undefined;
    default:
      if (sessions.size > 4) await removeSession(world, session);
  }
};

/** Answers whatever is still asked, until nothing runs any more. */
const settle = async ({ any }: World): Promise<void> => {
  // Between two prompts of a session nothing runs either.
  for (let quiet = 0; quiet < 5; ) {
    const asked = JSON.parse((await any().whole('GET', '/permission')).text) as readonly { readonly id: string }[];
    for (const { id } of asked) await any().whole('POST', `/permission/${id}/reply`, { reply: 'once' });
    const statuses = await any().get('/session/status');
    const unfinished = await any().store.unfinished();
    quiet = asked.length === 0 && JSON.stringify(statuses) === '{}' && unfinished.length === 0 ? quiet + 1 : 0;
    await sleep(50);
  }
};

const assertSession = async ({ any, sent }: World, session: Session): Promise<void> => {
  const messages = await any().store.messages(session.id);
  const infos = messages.map(({ info }) => info);
  const answers = infos.filter((info) => info.role === 'assistant');
  for (const { name, outcome: what } of sent.filter(({ sessionID }) => sessionID === session.id)) {
    const mine = messages.filter(
      ({ info, parts }) => info.role === 'user' && JSON.stringify(parts).includes(`${name} `),
    );
    assert.ok(mine.length <= 1, `${name} is there ${mine.length} times`);
    if (what === 'unknown') continue;
    assert.is(mine.length, 1, `${name} was answered and is lost`);
    const own = answers.filter((info) => info.parentID === mine[0]?.info.id);
    const ends = own.filter((info) => info.finish !== 'tool-calls' || info.error !== undefined);
    assert.ok(ends.length <= 1, `${name} was answered ${ends.length} times`);
    if (what === 'answered') assert.ok(own.length >= 1, `the answer to ${name} is lost`);
  }
  const cost = answers.reduce((sum, info) => sum + info.cost, 0);
  assert.ok(Math.abs(session.cost - cost) < 1e-9, `cost ${session.cost} where answers cost ${cost}`);
  for (const [place, { time, id }] of answers.entries()) {
    const before = answers[place - 1];
    // The answer of a dead server is ended later than it stopped.
    const isOver = before?.error !== undefined || time.created >= (before?.time.completed ?? 0);
    assert.ok(isOver, `${id} was begun while the answer before it was under way`);
  }
};

/** Has three servers do so many random operations, while some of them die and the database is restarted. */
export const checkRandomOperations = (check: Check, operations: number): void =>
  check(
    `lose nothing and do nothing twice over ${operations} random operations, while servers die and the database is restarted`,
    async () => {
      const seed = Math.trunc(Math.random() * 2 ** 31);
      console.log(`figure: random operations began from ${seed}`);
      const random = randomFrom(seed);
      const database = await startPostgres({ isOwn: true });
      const schema = database.freshSchema();
      const replicas = await Promise.all([0, 1, 2].map(() => startReplica(database, schema, GIVEN)));
      const pick = <T>(list: readonly T[]): T | undefined => list[Math.trunc(random() * list.length)];
      const any = (): Replica => {
        const one = pick(replicas);
        if (one === undefined) throw new Error('no server');
        return one;
      };
      const world: World = {
        replicas,
        any,
        pick,
        sessions: new Set(),
        deleted: new Set(),
        sent: [],
      };
      let count = 0;
      const lane = async (): Promise<void> => {
        while (count < operations) {
          count += 1;
          // A server may be gone in the middle of it: what it was asked is not known then.
          await operate(world, count).catch((error: unknown) => {
            if (error instanceof assert.Assertion) throw error;
          });
        }
      };
      const dying = async (): Promise<void> => {
        for (let death = 1; death * DEATH_EVERY < operations && count < operations; death++) {
          const at = death * DEATH_EVERY;
          while (count < at) await sleep(20);
          const fresh = await startReplica(database, schema, GIVEN);
          const old = replicas.shift();
          replicas.push(fresh);
          await (death % 2 === 0 ? old?.leave() : old?.vanish());
        }
      };
      const restarting = async (): Promise<void> => {
        while (count < operations / 2) await sleep(20);
        await database.restart(RESTART_MS);
      };
      const followers = Array.from({ length: FOLLOWERS }, () => followEvents(any, random));
      try {
        const answering = { isOver: false };
        // Questions that nobody answers would hold up everything behind them.
        const answered = (async () => {
          while (!answering.isOver) {
            await sleep(300);
            await replyToOne(world, 'once').catch(() => {});
          }
        })();
        await Promise.all([...Array.from({ length: LANES }, lane), dying(), restarting()]).finally(() => {
          answering.isOver = true;
        });
        await answered;
        await settle(world);
        const sessions = (await any().get('/session')) as readonly Session[];
        const known = new Set(sessions.map(({ id }) => id));
        for (const id of world.deleted) assert.not.ok(known.has(id), `session ${id} is back`);
        for (const id of world.sessions) assert.ok(known.has(id), `session ${id} is lost`);
        for (const session of sessions) await assertSession(world, session);
        const events = await any().events();
        const ids = events.map(({ id }) => id);
        assert.equal(ids, [...new Set(ids)].sort());
        for (const follower of followers) {
          const seen = await follower.upTo(ids.at(-1) ?? '');
          assert.equal(seen.ids, [...new Set(seen.ids)].sort(), 'an event came twice, or out of order');
          const received = new Set(seen.ids);
          const first = seen.ids[0] ?? '';
          assert.equal(
            ids.filter((id) => id > first && !received.has(id)),
            [],
            'events were lost',
          );
          assert.ok(seen.connections > 1);
        }
        const counts = Object.groupBy(world.sent, ({ outcome: what }) => what);
        console.log(
          `figure: ${world.sent.length} prompts, ${counts.answered?.length ?? 0} answered, ${counts.aborted?.length ?? 0} aborted, ${counts.unknown?.length ?? 0} not known`,
        );
        assert.ok((counts.answered?.length ?? 0) > operations / 10);
      } finally {
        await Promise.all(followers.map(({ stop }) => stop()));
        await Promise.all(replicas.map((replica) => replica.leave().catch(() => {})));
        await dropSchema(database, schema);
        await database.stop();
      }
    },
  );
