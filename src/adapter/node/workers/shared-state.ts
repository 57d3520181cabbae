import * as v from 'valibot';
import type { Clock } from '../../../core/clock.ts';
import { ConfigError } from '../../../core/config.ts';
import { Fault } from '../../../core/fault.ts';
import type { RateLimit } from '../../../gateway/rate-limit.ts';
import type { Readiness } from '../../../gateway/readiness.ts';
import type { SharedState } from '../../../gateway/shared-state.ts';
import type { SharedCoolDown } from '../../../llm/key-state.ts';
import { createWorkerAdmin, type WorkerAdmin } from './admin.ts';
import type { Channel } from './channel.ts';
import { CountAnswer, type ParentNotice, ReadinessAnswer } from './messages.ts';
import { createVerdictTransfer } from './verdicts.ts';

type WorkerStateNeeds = {
  readonly channel: Pick<Channel, 'ask' | 'notify' | 'offer'>;
  readonly clock: Clock;
  /** How many verdicts of other workers are kept. */
  readonly maxVerdicts: number;
};

/** What a worker shares with the others through the process that watches them. */
export type WorkerState = Required<SharedState> & {
  readonly admin: WorkerAdmin;
  /** The metrics of all workers. Faults with `unavailable` when they cannot be had. */
  readonly metricsText: () => Promise<string>;
  /** The policy file as it was when the service started. Throws a `ConfigError` when it cannot be had. */
  readonly policyText: () => Promise<string>;
  readonly onNotice: (notice: ParentNotice) => void;
  /** The worker's own readiness, as asked by another. */
  readonly onReadyQuestion: () => Promise<Readiness | undefined>;
};

/** As with Redis: later than this the worker goes on with what it knows itself. */
const COUNT_LIMIT_MS = 100;
const READY_LIMIT_MS = 4000;
const METRICS_LIMIT_MS = 3000;
/** The first process may be busy with the starts of all workers. */
const POLICY_LIMIT_MS = 10_000;

/** Counts with the parent. What passes there is counted here too, so that losing it starts no fresh minute. */
const createCountedRateLimit = (channel: WorkerStateNeeds['channel'], limit: number, local: RateLimit): RateLimit => {
  const count = async (keyId: string): Promise<number> => {
    const answer = v.safeParse(CountAnswer, await channel.ask({ kind: 'count', keyId }, COUNT_LIMIT_MS));
    if (!answer.success) return local(keyId);
    if (answer.output === 0) await local(keyId);
    return answer.output;
  };
  return limit === 0 ? local : count;
};

/** Creates a worker's end of the shared state. Every part of it works on alone while the parent does not answer. */
export const createWorkerState = ({ channel, clock, maxVerdicts }: WorkerStateNeeds): WorkerState => {
  const adopters: ((coolDown: SharedCoolDown) => void)[] = [];
  let receiveVerdicts = (_packed: readonly string[]): void => {};
  let checkOwnReadiness: (() => Promise<Readiness>) | undefined;

  const admin = createWorkerAdmin({ channel, clock });

  return {
    admin,
    verdicts(lifetimeMs) {
      const send = (verdicts: readonly string[]): void => channel.offer({ kind: 'verdicts', verdicts });
      const { find, store, receive } = createVerdictTransfer({ clock, lifetimeMs, limit: maxVerdicts, send });
      receiveVerdicts = receive;
      return { find, store };
    },
    rateLimit: (limit, local) => createCountedRateLimit(channel, limit, local),
    coolDowns: {
      publish({ fingerprint, state, reason = 'burst', coolDownMs, strikes }) {
        if (state !== 'cooling' && state !== 'active') return;
        const leftMs = state === 'active' ? 0 : coolDownMs;
        channel.notify({ kind: 'cool-down', fingerprint, reason, coolDownMs: leftMs, strikes });
      },
      subscribe: (adopt) => void adopters.push(adopt),
      scope: () => 'workers',
    },
    readiness(own) {
      checkOwnReadiness = own;
      return async () => {
        const readiness = await own();
        if (readiness.reasons.length === 0) return readiness;
        const answer = v.safeParse(ReadinessAnswer, await channel.ask({ kind: 'ready' }, READY_LIMIT_MS));
        return answer.success ? answer.output : readiness;
      };
    },
    async metricsText() {
      const text = await channel.ask({ kind: 'metrics' }, METRICS_LIMIT_MS);
      if (typeof text === 'string') return text;
      // This worker's own counts would look like a step back.
      throw new Fault({
        kind: 'unavailable',
        message: 'The metrics of the workers cannot be added up',
        retryAfterMs: 1000,
      });
    },
    async policyText() {
      const text = await channel.ask({ kind: 'policy' }, POLICY_LIMIT_MS);
      if (typeof text === 'string') return text;
      throw new ConfigError(['MODERATION_POLICY_FILE: the first process did not send what it has read of it']);
    },
    onNotice(notice) {
      if (notice.kind === 'verdicts') receiveVerdicts(notice.verdicts);
      if (notice.kind === 'feed-read') admin.onRead();
      if (notice.kind === 'feed') admin.onBatch(notice);
      if (notice.kind !== 'cool-down') return;
      const { kind: _, ...coolDown } = notice;
      for (const adopt of adopters) adopt(coolDown);
    },
    onReadyQuestion: async () => checkOwnReadiness?.(),
  };
};
