import * as assert from 'uvu/assert';
import { pause } from '../../../../src/core/async.ts';
import { chatWith, type Reply, WEATHER } from '../../harness/tools-world.ts';
import type { BridgeWorld } from '../../harness/world.ts';
import type { Arena } from './arena.ts';
import type { Fate, startServers } from './servers.ts';

export type Message = Readonly<Record<string, unknown>>;
/** A request of a client, which asks until it has an answer. */
export type Asked = {
  readonly owner: string;
  readonly name: string | undefined;
  readonly messages: readonly Message[];
  /** Its turn may be cut off: then an error says so, and nothing more comes. */
  readonly mayBeAborted: () => boolean;
};
type ClientNeeds = {
  readonly arena: Arena;
  readonly random: () => number;
  readonly servers: Awaited<ReturnType<typeof startServers>>;
  /** Is told what happens, for the story of a play that fails. */
  readonly tell: (line: string) => void;
};

/** How often a client asks until it has an answer. */
export const TRIES = 12;
const TROUBLED_TRIES = 5;
const KILLS = 2;
/** What a client waits before it tries again, as official ones do. */
const AGAIN_MS = 500;
const PATIENCE_MS = 30_000;
const FATES: readonly [Fate, ...Fate[]] = [
  'arrives',
  'arrives',
  'is not sent',
  'loses its answer',
  'breaks in its answer',
];

/** Clients that are in trouble: they leave, their bridge or an agent server is killed, connections break. */
export const createClient = ({ arena, random, servers, tell }: ClientNeeds) => {
  const { clock } = arena;
  const { signal } = new AbortController();
  const pick = <One>(list: readonly [One, ...One[]]): One => list[Math.floor(random() * list.length)] ?? list[0];
  const isSo = (share: number): boolean => random() < share;
  let keys = 0;
  let kills = 0;

  const bring = async (place: 0 | 1, leave: () => void): Promise<void> => {
    for (let ticks = Math.floor(random() * 30); ticks > 0; ticks -= 1) await arena.tick();
    const trouble = kills < KILLS ? random() : random() * 0.8;
    if (trouble < 0.4) {
      tell('a client leaves');
      leave();
    } else if (trouble < 0.6) {
      tell(`bridge ${place} is killed`);
      await servers.killBridge(place);
    } else if (trouble < 0.8) {
      tell(`the connections of bridge ${place} break`);
      servers.breakOff(place);
    } else {
      kills += 1;
      const killed = isSo(0.5) ? 0 : 1;
      tell(`agent server ${killed} is killed`);
      await servers.killServer(killed);
    }
  };
  /** One attempt: its reply, or undefined where the client has left or its bridge was killed. */
  const attempt = async (
    place: 0 | 1,
    { owner, name, messages }: Asked,
    more: Readonly<Record<string, string>>,
    isTroubled: boolean,
  ): Promise<Reply | undefined> => {
    const bridge = servers.bridgeAt(place);
    const what = `${JSON.stringify(messages.at(-1)?.content)} at bridge ${place}`;
    bridge.fates = isTroubled ? [pick(FATES), pick(FATES)] : [];
    tell(`${what} ${JSON.stringify(more)} ${bridge.fates.toReversed()}`);
    const leaving = new AbortController();
    const headers = {
      authorization: `Bearer ${owner}`,
      ...(name === undefined ? {} : { 'x-session-id': name }),
      ...more,
    };
    const send: BridgeWorld['send'] = (path, body, given) => bridge.world.send(path, body, given, leaving.signal);
    const left = Promise.withResolvers<undefined>();
    const answered = chatWith({ send }, messages, { tools: [WEATHER] }, headers).catch(() => undefined);
    const trouble = isTroubled
      ? bring(place, () => {
          leaving.abort();
          left.resolve(undefined);
        })
      : undefined;
    const tooLong = pause(clock, PATIENCE_MS, signal).then(() => 'no answer at all' as const);
    const reply = await Promise.race([answered, left.promise, bridge.gone.promise, tooLong]);
    await trouble;
    const told = typeof reply === 'object' ? `${reply.status} ${reply.error?.message ?? reply.message.content}` : reply;
    tell(`${what}: ${told}`);
    if (reply === 'no answer at all') throw new Error(`${reply} to ${what}`);
    return reply;
  };
  /** The answer to a request; undefined where an error says that its turn was aborted and is not run again. */
  const ask = async (asked: Asked): Promise<Reply | undefined> => {
    const identity = pick(['key', 'mark']);
    keys += 1;
    const key = `key-${keys}`;
    let failure = 'none';
    for (let tries = 0; tries < TRIES; tries += 1) {
      const isTroubled = tries < TROUBLED_TRIES && isSo(0.5);
      const mark = tries === 0 ? {} : { 'x-stainless-retry-count': String(tries) };
      const more = identity === 'key' ? { 'idempotency-key': key } : mark;
      const place = isSo(0.5) ? 0 : 1;
      const isDouble = identity === 'key' && isSo(0.2);
      const [reply, double] = await Promise.all([
        attempt(place, asked, more, isTroubled),
        isDouble ? attempt(place === 0 ? 1 : 0, asked, more, false) : undefined,
      ]);
      if (reply?.status === 200 && double?.status === 200) assert.equal(double.message, reply.message);
      const found = [reply, double].find((one) => one?.status === 200);
      if (found !== undefined && isSo(0.15)) {
        // Its answer was lost on the way to the client, who asks once more.
        const again = { ...more, ...(identity === 'mark' ? { 'x-stainless-retry-count': '9' } : {}) };
        const repeated = await attempt(isSo(0.5) ? 0 : 1, asked, again, false);
        if (repeated?.status === 200) assert.equal(repeated.message, found.message);
        else assert.ok((repeated?.status ?? 502) >= 500, `${repeated?.status} ${repeated?.error?.message}`);
      }
      if (found !== undefined) return found;
      for (const { status, error } of [reply, double].filter((one) => one !== undefined)) {
        failure = `${status} ${error?.code} ${error?.message}`;
        if (error?.code === 'turn_aborted' && asked.mayBeAborted()) return undefined;
        assert.ok(status >= 499, failure);
      }
      await pause(clock, AGAIN_MS, signal);
    }
    throw new Error(`no answer to ${JSON.stringify(asked.messages.at(-1))}: ${failure}`);
  };
  return { ask, pick, isSo };
};
