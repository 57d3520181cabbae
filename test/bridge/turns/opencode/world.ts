import { randomBytes } from 'node:crypto';
import { systemClock } from '../../../../src/adapter/node/clock.ts';
import { nodeHexDigest } from '../../../../src/adapter/node/crypto.ts';
import { createIds } from '../../../../src/agent/protocol/ids.ts';
import { createAgentCalls } from '../../../../src/bridge/agent/calls.ts';
import { createAgentTransport } from '../../../../src/bridge/agent/servers.ts';
import { type BridgeFault, isBridgeFault } from '../../../../src/bridge/errors.ts';
import { createOpenCodeTurns } from '../../../../src/bridge/turns/opencode/turns.ts';
import type {
  BeginRequest,
  BegunTurn,
  SentMessage,
  TurnCaller,
  TurnEntry,
  TurnEvent,
  TurnSnapshot,
  TurnsPort,
} from '../../../../src/bridge/turns/port.ts';
import type { Clock } from '../../../../src/core/clock.ts';
import { createLog } from '../../../../src/core/log.ts';
import { runAtOnce } from '../../../../src/core/time-slices.ts';
import { type AgentWorld, createAgentWorld, type WorldGiven } from '../../../agent/harness/world.ts';
import { createMemoryStore } from '../../../agent/store/memory-store.ts';
import { type AgentLink, createAgentLink } from '../../harness/agent-link.ts';
import { type PlainFeed, plainFeed } from './feed.ts';

export const OWNER = 'owner-of-this-test';

export type TurnsWorld = AgentLink &
  PlainFeed & {
    readonly agent: AgentWorld;
    readonly turns: TurnsPort;
    readonly by: TurnCaller;
    readonly logged: readonly string[];
    /** Begins a turn. The world's requests have keys of their own. */
    readonly begin: (request?: Partial<BeginRequest>, by?: TurnCaller) => Promise<BegunTurn>;
    /** Begins a turn and reads it to its end, or until it waits. */
    readonly ask: (request?: Partial<BeginRequest>, by?: TurnCaller) => Promise<ReadTurn>;
    /** The port of another bridge, after this one has ended. */
    readonly restart: () => TurnsPort;
    readonly stop: () => Promise<void>;
  };

export type ReadTurn = {
  readonly outcome: 'begun' | 'joined';
  readonly reader: string;
  readonly turn: TurnSnapshot;
  readonly entries: readonly TurnEntry[];
  readonly text: string;
};

export const user = (text: string): SentMessage => ({ role: 'user', parts: [{ type: 'text', text }] });
export const assistant = (text: string): SentMessage => ({ role: 'assistant', text });

let made = 0;
const newKey = (): string => {
  made += 1;
  return `key-${made}`;
};

/** A request with one message of a user. */
export const requestWith = (given: Partial<BeginRequest> = {}): BeginRequest => {
  const key = newKey();
  return {
    history: [],
    isAppended: false,
    isCompared: false,
    isNew: false,
    input: [user('hi')],
    decisions: [],
    ifWaiting: 'refuse',
    isJoinOnly: false,
    agent: undefined,
    model: undefined,
    variant: undefined,
    title: 'A title',
    system: '',
    format: undefined,
    clientTools: undefined,
    hasTools: true,
    key,
    isKeyOfClient: false,
    digest: `digest of ${key}`,
    isRetry: false,
    abortAfterMs: 10_000,
    isStored: true,
    metadata: {},
    ...given,
  };
};

export const textOf = (entries: readonly TurnEntry[]): string =>
  entries.map((entry) => (entry.type === 'text' ? entry.text : '')).join('');

/** Reads until the turn ends or waits for a decision. */
export const readUntilPause = async (
  events: AsyncIterable<TurnEvent>,
): Promise<{ readonly turn: TurnSnapshot | undefined; readonly entries: readonly TurnEntry[] }> => {
  const entries: TurnEntry[] = [];
  for await (const event of events) {
    if (event.kind === 'entries') entries.push(...event.entries);
    else if (event.kind === 'end' || event.turn.status === 'waiting') return { turn: event.turn, entries };
  }
  return { turn: undefined, entries };
};

/** A turn that has to have begun or been joined. */
export const begun = (result: BegunTurn): Extract<BegunTurn, { readonly reader: string }> => {
  if (!('reader' in result)) throw new Error(`The turn was not begun: ${result.outcome}`);
  return result;
};

/** The fault that a promise rejects with. */
export const faultOf = async (promise: Promise<unknown>): Promise<BridgeFault> => {
  const thrown = await promise.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!isBridgeFault(thrown)) throw thrown ?? new Error('Expected a fault');
  return thrown.detail;
};

export const refusalOf = async (promise: Promise<unknown>): Promise<string> => {
  const fault = await faultOf(promise);
  return fault.kind === 'turn-refused' ? fault.code : fault.kind;
};

type Given = WorldGiven & { readonly clock?: Clock };

/** The port over our own agent server, without event ids, as an OpenCode server has none. */
export const createTurnsWorld = async (given: Given = {}): Promise<TurnsWorld> => {
  const ids = createIds(systemClock, randomBytes);
  const store = given.store ?? createMemoryStore({ ids });
  const agent = await createAgentWorld({ ...given, store, changes: { clock: systemClock, ids, ...given.changes } });
  const link = createAgentLink(agent.server.handler);
  const feedFaults = plainFeed(link.stream);
  const logged: string[] = [];
  const { clock = systemClock } = given;
  const log = createLog({ level: 'debug', service: 'bridge', clock, write: (line) => void logged.push(line) });
  const stops: (() => void)[] = [];
  const start = (): TurnsPort => {
    const { httpClient } = link;
    const { stream } = feedFaults;
    const transport = createAgentTransport({
      ...{ baseUrls: ['http://agent.test'], credentials: undefined, httpClient, stream, clock, log },
    });
    const runInSlices = async <T>(steps: Parameters<typeof runAtOnce<T>>[0]): Promise<T> => runAtOnce(steps);
    const callAgent = createAgentCalls({ transport, clock, runInSlices });
    const newId = (): string => randomBytes(10).toString('hex');
    const given = { transport, callAgent, clock, chance: () => 1, log, digest: nodeHexDigest };
    const turns = createOpenCodeTurns({ ...given, newId, runInSlices });
    stops.push(turns.stop);
    return turns;
  };
  const turns = start();
  const by: TurnCaller = { owner: OWNER, signal: new AbortController().signal };
  const begin: TurnsWorld['begin'] = (request, caller = by) => turns.begin(requestWith(request), caller);
  return {
    ...link,
    ...feedFaults,
    ...{ agent, turns, by, logged, begin },
    async ask(request, caller = by) {
      const { outcome, reader, events, turn: first } = begun(await begin(request, caller));
      const { turn = first, entries } = await readUntilPause(events);
      const shownIDs = turn.waiting.map(({ id }) => id);
      await turns.leave(first.id, { id: reader, readTo: entries.at(-1)?.position ?? turn.from, shownIDs }, caller);
      return { outcome, reader, turn, entries, text: textOf(entries) };
    },
    restart() {
      for (const stop of stops.splice(0)) stop();
      return start();
    },
    async stop() {
      for (const stop of stops.splice(0)) stop();
      await agent.server.stop();
    },
  };
};

/** The same, ended whatever comes of `body`. */
export const withTurns = async (given: Given, body: (world: TurnsWorld) => Promise<void>): Promise<void> => {
  const world = await createTurnsWorld(given);
  try {
    await body(world);
  } finally {
    await world.stop();
  }
};

/** Waits until the model of `hanging` has begun: one that is aborted before hangs for ever. */
export const untilThinking = ({ turns, by }: Pick<TurnsWorld, 'turns' | 'by'>, turnID: string): Promise<void> =>
  untilSo(async () => textOf((await turns.read(turnID, by)).entries).endsWith('thinking'));

/** Looks again and again, in the machine's own time. */
export const untilSo = async (isSo: () => boolean | Promise<boolean>): Promise<void> => {
  const endsAt = Date.now() + 8000;
  while (!(await isSo())) {
    if (Date.now() > endsAt) throw new Error('It never came to be so');
    await new Promise((resolve) => setTimeout(resolve, 3));
  }
};
