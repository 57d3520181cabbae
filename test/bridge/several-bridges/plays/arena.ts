import { createIds } from '../../../../src/agent/protocol/ids.ts';
import type { Store } from '../../../../src/agent/store/store.ts';
import type { Clock } from '../../../../src/core/clock.ts';
import { type AgentWorld, createAgentWorld, type WorldGiven } from '../../../agent/harness/world.ts';
import { createMemoryCluster } from '../../../agent/store/memory-cluster.ts';
import { createFakeClock } from '../../../fake-clock.ts';
import { SHOWN } from '../../harness/world.ts';

/** An agent server of a play. */
export type ArenaServer = {
  readonly agent: AgentWorld;
  readonly isGone: () => boolean;
  /** Is killed: nothing of it happens any more. */
  readonly vanish: () => void | Promise<void>;
  readonly stop: () => Promise<void>;
};

/** Where a play takes place: agent servers on one store, and their time. */
export type Arena = {
  readonly clock: Clock;
  /** Whether what is read is what there was when it was asked for. */
  readonly isExact: boolean;
  /** How long a slow model takes. */
  readonly slowMs: number;
  readonly startServer: (given: (isGone: () => boolean) => WorldGiven) => Promise<ArenaServer>;
  /** Lets what is ready happen, and no more. */
  readonly tick: () => Promise<void>;
  /** Lets time pass until the work is done. */
  readonly during: <T>(work: Promise<T>) => Promise<T>;
  readonly close: () => Promise<void>;
};
export type OpenArena = (random: () => number) => Promise<Arena>;

const STEP_MS = 10;

/** Numbers from 0 to 1 that depend on the seed alone. */
export const createRandom = (seed: number) => {
  let state = seed * 2654435761 + 1;
  return (): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
};

/** Servers on a store of this process, whose time passes as fast as they work. A play with the same seed is the same. */
export const inProcess =
  (createStore: (ids: ReturnType<typeof createIds>) => Promise<Store>): OpenArena =>
  async (random) => {
    const clock = createFakeClock();
    // What happens is told by `random`, and ids say nothing of it.
    const bytes = createRandom(1);
    const newIds = (own: Clock) =>
      createIds(own, (length) => Uint8Array.from({ length }, () => Math.floor(bytes() * 256)));
    const store = await createStore(newIds(clock));
    const cluster = createMemoryCluster(store, clock, random);
    return {
      clock,
      isExact: true,
      slowMs: 400,
      async startServer(given) {
        const { isGone, vanish, clock: own, ...member } = cluster.join();
        const changes = { configViews: SHOWN, clock: own, ids: newIds(own), peers: member.peers };
        const agent = await createAgentWorld({ ...given(isGone), store: member.store, changes });
        return { agent, isGone, vanish, stop: () => agent.server.stop() };
      },
      tick: () => new Promise((resolve) => setImmediate(resolve)),
      async during(work) {
        let isOver = false;
        const over = work.finally(() => {
          isOver = true;
        });
        over.catch(() => {});
        while (!isOver) await clock.advance(STEP_MS);
        return over;
      },
      close: () => store.close(),
    };
  };
