import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import type { Session } from '../../../src/agent/protocol/types.ts';
import { answer, calls, type Piece, text } from '../../../src/demo/model/reply.ts';
import type { ReceivedRequest } from '../../../src/demo/model/request.ts';
import type { Variables } from '../processes.ts';
import type { AgentProcess } from './process.ts';
import {
  type AgentWorld,
  isNoTitle,
  messagesOf,
  newSession,
  prompt,
  promptTexts,
  questionsOf,
  type ReceivedAnswer,
  type ReceivedMessage,
  textPrompt,
  until,
} from './world.ts';

export const CONFIG = {
  permission: { task: 'ask' },
  agent: { helper: { mode: 'subagent', description: 'Helps with one thing' } },
};

/** Where the servers of a lane keep their data, one after the other. */
export type LanePlace = {
  readonly variables: Variables;
  /** Fails unless the data are sound as the dead server has left them. */
  readonly assertSound: (when: string) => Promise<void> | void;
  /** Settles when a server that has just started has nothing of the dead one to wait for any more. */
  readonly untilTakenOver: () => Promise<void>;
};

/** A prompt that was sent, and what was promised about it. An answer is owed for it once it is acknowledged. */
type GivenPrompt = {
  readonly sessionID: string;
  readonly wantsAnswer: boolean;
  isAcknowledged: boolean;
  answerID?: string;
};

/** What a lane has been promised by processes that are gone. */
type Lane = {
  readonly name: string;
  readonly world: AgentWorld;
  readonly place: LanePlace;
  readonly variables: Variables;
  readonly sessions: Set<string>;
  readonly deleted: Set<string>;
  /** By the texts of the prompts. */
  readonly prompts: Map<string, GivenPrompt>;
  readonly touched: Set<string>;
  readonly titles: Map<string, string>;
  count: number;
  /** Shifts the kills that meet a start. */
  readonly offset: number;
  /** How long a fresh process took for its first answer, which is when it loads what it needs for answers. */
  paceMs: number;
};
type Tally = Record<string, number>;

const MOMENTS = ['at work', 'unfinished answers', 'waiting prompts', 'during the start'];
/** Counted when a lane ends. */
const PROMISES = ['acknowledged', 'answered'];
/** How many times the wanted kills there may be until every moment is met. */
const MOST_TIMES = 3;

const unmet = (tally: Tally, wanted: readonly string[] = MOMENTS): readonly string[] =>
  wanted.filter((what) => (tally[what] ?? 0) === 0);

const add = (tally: Tally, what: string, count = 1): void => {
  tally[what] = (tally[what] ?? 0) + count;
};

const lastLines = ({ turns }: ReceivedRequest): string => {
  const last = turns.findLast(({ role }) => role === 'user');
  return last?.role === 'user' ? last.text : '';
};

const slowly = (ms: number): Piece[] =>
  ['so ', 'it ', 'may ', 'be.'].flatMap((word) => [{ kind: 'wait' as const, ms }, ...text(word)]);

/** Answers at different paces, and one that asks for a call which somebody has to allow. */
export const script = ({ model }: AgentWorld): void => {
  const given = { description: 'Do one thing', prompt: 'do it', subagent_type: 'helper' };
  model.alwaysReply('A title');
  model.alwaysReply(answer(slowly(4)), isNoTitle);
  model.alwaysReply(answer(slowly(60)), (asked) => isNoTitle(asked) && / slow$/.test(lastLines(asked)));
  model.alwaysReply(
    answer(calls({ name: 'task', arguments: given })),
    (asked) => isNoTitle(asked) && / ask$/.test(lastLines(asked)),
  );
};

/** Sends one prompt, and remembers what the server has promised about it. */
const promise = async (agent: AgentProcess, lane: Lane, sessionID: string): Promise<void> => {
  lane.count += 1;
  const way = ['async', 'message', 'no-reply'][lane.count % 3];
  const kind = ['', '', ' slow', ' slow', ' ask'][lane.count % 5] ?? '';
  const words = `${lane.name} prompt ${lane.count}${kind}`;
  const given: GivenPrompt = { sessionID, wantsAnswer: way !== 'no-reply', isAcknowledged: false };
  lane.prompts.set(words, given);
  lane.touched.add(sessionID);
  const path = `/session/${sessionID}/${way === 'async' ? 'prompt_async' : 'message'}`;
  const body = textPrompt(words, way === 'no-reply' ? { noReply: true } : {});
  const response = await agent.send('POST', path, body);
  assert.is(response.status, way === 'async' ? 204 : 200);
  // For a prompt that waits the headers are the promise already.
  given.isAcknowledged = true;
  const outputText = await response.text();
  if (way === 'message') given.answerID = (JSON.parse(outputText) as ReceivedAnswer).info.id;
};

const create = async (agent: AgentProcess, lane: Lane): Promise<void> => {
  const { id, title } = await newSession(agent, lane.count % 2 === 0 ? {} : { title: `titled ${lane.count}` });
  lane.sessions.add(id);
  if (title.startsWith('titled')) lane.titles.set(id, title);
};

const removeOne = async (agent: AgentProcess, lane: Lane): Promise<void> => {
  const [id] = lane.sessions;
  if (id === undefined || lane.sessions.size < 4) return;
  // From here on it may be gone, or not.
  lane.sessions.delete(id);
  lane.touched.delete(id);
  for (const [words, { sessionID }] of lane.prompts) if (sessionID === id) lane.prompts.delete(words);
  await agent.ask('DELETE', `/session/${id}`);
  lane.deleted.add(id);
};

/** The process may die at any of these. */
const untilKilled = (work: Promise<void>): Promise<void> =>
  work.catch((error: unknown) => {
    const isConnection = error instanceof TypeError || error instanceof SyntaxError;
    if (!isConnection) throw error;
  });

const assertSettled = (messages: readonly ReceivedMessage[], when: string): void => {
  for (const { info, parts } of messages) {
    if (info.role !== 'assistant') {
      assert.ok(parts.length > 0, `${when}: a prompt without its text`);
      continue;
    }
    assert.type(info.time.completed, 'number', `${when}: an answer without an end`);
    assert.ok(
      messages.some((other) => other.info.role === 'user' && other.info.id === info.parentID),
      `${when}: an answer to nothing`,
    );
    if (info.error !== undefined) assert.is(info.error.name, 'MessageAbortedError', when);
    else assert.ok(info.finish === 'stop' || info.finish === 'tool-calls', `${when}: finish ${info.finish}`);
    for (const part of parts) {
      if (part.type === 'tool') assert.match(part.state.status, /^(?:completed|error)$/, when);
      if (part.type === 'text' && part.time !== undefined) assert.type(part.time.end, 'number', when);
    }
  }
};

/** Holds what the server has against what its predecessors have promised. */
const assertKept = async (agent: AgentProcess, lane: Lane, when: string): Promise<void> => {
  assert.equal((await agent.ask('GET', '/session/status')).json, {}, when);
  assert.equal(await questionsOf(agent), [], when);
  const sessions = (await agent.ask<readonly Session[]>('GET', '/session')).json;
  const known = new Map(sessions.map((session) => [session.id, session]));
  for (const id of lane.sessions) assert.ok(known.has(id), `${when}: session ${id} is lost`);
  for (const id of lane.deleted) assert.not.ok(known.has(id), `${when}: session ${id} is back`);
  for (const [id, title] of lane.titles)
    if (lane.sessions.has(id)) assert.is(known.get(id)?.title, title, `${when}: title`);
  for (const id of lane.touched) {
    const messages = await messagesOf(agent, id);
    assertSettled(messages, when);
    const prompts = messages.filter(({ info }) => info.role === 'user');
    const idOf = new Map(prompts.map(({ info, parts }) => [promptTexts(parts), info.id]));
    assert.equal(prompts.length, idOf.size, `${when}: a prompt is there twice`);
    const answered = new Set(messages.map(({ info }) => (info.role === 'assistant' ? info.parentID : '')));
    for (const [words, { sessionID, wantsAnswer, isAcknowledged, answerID }] of lane.prompts) {
      if (sessionID !== id) continue;
      const promptID = idOf.get(words);
      if (isAcknowledged) assert.ok(promptID !== undefined, `${when}: "${words}" is lost`);
      if (isAcknowledged && wantsAnswer)
        assert.ok(answered.has(promptID ?? ''), `${when}: "${words}" was never answered`);
      if (answerID !== undefined) {
        const reported = messages.find(({ info }) => info.id === answerID);
        assert.ok(reported !== undefined, `${when}: the answer to "${words}" is lost`);
      }
    }
  }
  // Children are sessions too.
  for (const { id } of sessions.filter(({ parentID }) => parentID !== undefined))
    assertSettled(await messagesOf(agent, id), when);
};

/** Waits for the answers that the dead server owed. Nobody is there to allow what some of them ask for. */
const untilSettled = async (agent: AgentProcess, lane: Lane): Promise<void> => {
  let isTakenOver = false;
  const takenOver = lane.place.untilTakenOver().then(() => {
    isTakenOver = true;
  });
  await until('every answer that was owed has ended', async () => {
    for (const { id } of await questionsOf(agent))
      await agent.send('POST', `/permission/${id}/reply`, { reply: 'reject' });
    return isTakenOver && JSON.stringify((await agent.ask('GET', '/session/status')).json) === '{}';
  });
  await takenOver;
};

/** Fails unless a prompt gets its answer. */
export const assertAnswers = async (agent: AgentProcess, sessionID: string, when: string): Promise<void> => {
  const { info, parts } = await prompt(agent, sessionID, `are you there, ${crypto.randomUUID()}?`);
  assert.equal([info.finish, promptTexts(parts)], ['stop', 'so it may be.'], `${when}: ${JSON.stringify(info.error)}`);
};

/** What the dead server had left to do, by the log of the next one. */
const countOwed = (agent: AgentProcess, tally: Tally): void => {
  for (const { event, count } of agent.logged()) {
    if (event === 'unfinished-answers-ended') add(tally, 'unfinished answers', Number(count));
    if (event === 'waiting-prompts-run') add(tally, 'waiting prompts', Number(count));
  }
};

const begin = (lane: Lane) => lane.world.begin({ variables: lane.variables, config: CONFIG });

const killedAtStart = async (lane: Lane, tally: Tally): Promise<void> => {
  const running = begin(lane);
  // Few kills are to meet a start as well: the first one comes before any process listens.
  await sleep(Math.random() * (tally['during the start'] === undefined ? 50 : 500));
  add(tally, running.stderr().includes('"listening"') ? 'soon after the start' : 'during the start');
  await running.kill();
};

const killedAtWork = async (lane: Lane, tally: Tally, when: string): Promise<void> => {
  const agent = await lane.world.start({ variables: lane.variables, config: CONFIG });
  await untilSettled(agent, lane);
  countOwed(agent, tally);
  await assertKept(agent, lane, when);
  lane.touched.clear();
  const [last] = [...lane.sessions].slice(-1);
  if (last !== undefined && Math.random() < 0.25) {
    const startedAt = performance.now();
    await assertAnswers(agent, last, when);
    lane.paceMs = performance.now() - startedAt;
    add(tally, 'next prompts answered');
  }
  if (lane.count % 3 === 0 || last === undefined) await create(agent, lane);
  const targets = [...lane.sessions].slice(-2);
  const works = [
    ...[...targets, ...targets].map((id) => promise(agent, lane, id)),
    ...(lane.count % 2 === 0 ? [create(agent, lane)] : []),
    ...(lane.count % 5 === 0 ? [removeOne(agent, lane)] : []),
  ].map(untilKilled);
  // More often early, when much is stored, than late; on a busy machine all of it takes longer.
  await sleep(Math.random() ** 2 * 2 * lane.paceMs);
  // Few kills are to come after a received answer as well: one lane waits for its first.
  const isAnswered = () => [...lane.prompts.values()].some(({ answerID }) => answerID !== undefined);
  for (let waits = 0; lane.offset === 0 && waits < 100 && !isAnswered(); waits++) await sleep(10);
  await agent.kill();
  add(tally, 'at work');
  await Promise.all(works);
};

const killedAgainAndAgain = async (lane: Lane, kills: number, tally: Tally): Promise<void> => {
  // Goes on while some moment has not been met, for as long as that is bad luck.
  const isEnough = (kill: number) => kill > kills && (kill > MOST_TIMES * kills || unmet(tally).length === 0);
  for (let kill = 1; !isEnough(kill) && tally.failed === undefined; kill++) {
    const when = `${lane.name}, after kill ${kill - 1}`;
    // Not in every lane at the same number: few kills are to meet a start, too.
    if ((kill + lane.offset + 2) % 8 === 0) await killedAtStart(lane, tally);
    else await killedAtWork(lane, tally, when);
    if (kill % 10 === 0) await lane.place.assertSound(when);
  }
  for (const id of lane.sessions) lane.touched.add(id);
  const agent = await lane.world.start({ variables: lane.variables, config: CONFIG });
  await untilSettled(agent, lane);
  countOwed(agent, tally);
  await assertKept(agent, lane, `${lane.name} at last`);
  for (const id of [...lane.sessions].slice(-3)) await assertAnswers(agent, id, 'at last');
  const counts = [...lane.prompts.values()];
  add(tally, 'acknowledged', counts.filter(({ isAcknowledged }) => isAcknowledged).length);
  add(tally, 'answered', counts.filter(({ answerID }) => answerID !== undefined).length);
  const { code } = await agent.signal('SIGTERM');
  assert.is(code, 0);
  await lane.place.assertSound('at last');
};

type KillsNeeds = {
  readonly kills: number;
  /** Side by side, each with data of its own: a start is mostly work for one processor. */
  readonly lanes: number;
  readonly placeOf: (world: AgentWorld, name: string) => Promise<LanePlace> | LanePlace;
};

/** Kills servers so often at least, at any moment, and holds each against what those before it have promised. Prints what there was. */
export const killAll = async (world: AgentWorld, { kills, lanes, placeOf }: KillsNeeds): Promise<void> => {
  script(world);
  // Compiled code is kept only by a process that ends in order.
  const cache = { NODE_COMPILE_CACHE: join(world.directory, 'compiled') };
  const first = await world.start({ variables: cache });
  await assertAnswers(first, (await newSession(first)).id, 'at first');
  await first.signal('SIGTERM');
  const tally: Tally = {};
  const startedAt = performance.now();
  const lane = async (index: number): Promise<void> => {
    const name = `lane-${index}`;
    const place = await placeOf(world, name);
    const fresh: Lane = {
      name,
      world,
      place,
      variables: { ...cache, ...place.variables },
      sessions: new Set(),
      deleted: new Set(),
      prompts: new Map(),
      touched: new Set(),
      titles: new Map(),
      count: index,
      offset: index,
      paceMs: 300,
    };
    const own = Math.floor(kills / lanes) + (index < kills % lanes ? 1 : 0);
    await killedAgainAndAgain(fresh, own, tally).catch((error: unknown) => {
      // The others end as well, instead of starting servers that nobody ends.
      add(tally, 'failed');
      throw error;
    });
  };
  const all = await Promise.allSettled(Array.from({ length: lanes }, (_, index) => lane(index)));
  for (const one of all) if (one.status === 'rejected') throw one.reason;
  console.log(`figure: ${kills} kills in ${Math.round(performance.now() - startedAt)} ms: ${JSON.stringify(tally)}`);
  assert.equal(unmet(tally, [...MOMENTS, ...PROMISES]), [], JSON.stringify(tally));
};
