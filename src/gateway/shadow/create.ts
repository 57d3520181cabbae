import type { ByteBudget } from '../../core/byte-budget.ts';
import { Fault } from '../../core/fault.ts';
import { createSemaphore, type Semaphore } from '../../core/semaphore.ts';
import type { KeyChange, SharedCoolDown } from '../../llm/key-state.ts';
import { createJudgeBackend, type JudgeBackendNeeds } from '../backend.ts';
import { createVerdictCache } from '../judge/cache.ts';
import { createFindUnseen } from '../judge/chain/fitness.ts';
import { createItems } from '../judge/moderation.ts';
import type { Judging } from '../judge/types.ts';
import type { GatewayMetrics } from '../metrics.ts';
import type { PolicySelection } from '../policy/policy.ts';
import type { ShadowSettings } from '../policy/shadow-settings.ts';
import { createShadow, interruptAll, type Shadow } from './shadow.ts';

type GatewayShadowNeeds = Omit<JudgeBackendNeeds, 'onAttempt'> & {
  readonly settings: ShadowSettings;
  readonly policies: PolicySelection;
  readonly metrics: Pick<GatewayMetrics, 'shadow' | 'shadowFound'>;
  readonly isStopping: () => boolean;
  /** Ends what runs. */
  readonly stopSignal?: AbortSignal | undefined;
  readonly keepDisagreement?: ((line: string) => void) | undefined;
  /** What clients' bodies are taken from: the shadow holds an item only until they need its bytes. */
  readonly budget: Pick<ByteBudget, 'keep'>;
  /** What clients' texts are judged with. */
  readonly live: Judging & { readonly semaphore: Semaphore };
};

/** The shadow of a gateway. `adopt`: keys that rest for clients rest for it too. */
export type GatewayShadow = Shadow & { readonly adopt: (change: KeyChange | SharedCoolDown) => void };

/**
 * The places of the shadow's calls: a few of its own, and for each of them one that no client needs. If a client comes to need one,
 * `onTaken` is called.
 */
const createBorrowedPlaces = (
  calls: number,
  live: Semaphore,
  onTaken: () => void,
): Pick<Semaphore, 'acquire' | 'tryAcquire'> => {
  const own = createSemaphore(calls, Number.POSITIVE_INFINITY);
  return {
    // Without waiting there is none: who asks waits for its own place first.
    tryAcquire: () => undefined,
    async acquire(signal) {
      const leave = await own.acquire(signal);
      const giveBack = live.tryBorrow(onTaken);
      if (giveBack === undefined) {
        leave();
        throw new Fault({ kind: 'overloaded', retryAfterMs: 0 });
      }
      return () => {
        giveBack();
        leave();
      };
    },
  };
};

/**
 * Creates the shadow of a gateway. It has keys, a breaker and a cache of its own: what fails for it must not make a key or the backend
 * rest for clients, and what it finds must not be their answer.
 */
export const createGatewayShadow = (needs: GatewayShadowNeeds): GatewayShadow => {
  const { live, settings } = needs;
  const backend = createJudgeBackend({ ...needs, log() {}, onAttempt() {} });
  const running = new Set<AbortController>();
  const interrupt = (): void => interruptAll(running);
  const judging: Judging = {
    ...live,
    upstream: backend.upstream,
    semaphore: createBorrowedPlaces(settings.calls, live.semaphore, interrupt),
    cache: createVerdictCache(0, 0, live.clock.now),
    shared: undefined,
    onUnusable() {},
    settings: { ...live.settings, HEDGE_AFTER_MS: 0 },
  };
  const shadow = createShadow({
    ...needs,
    running,
    digest: live.digest,
    deadlineMs: live.settings.REQUEST_DEADLINE_MS,
    findUnseen: createFindUnseen(backend.findTraits),
    isBusy: () => live.semaphore.waiting() > 0,
    itemsBy: (policy) => createItems(judging, policy),
  });
  needs.stopSignal?.addEventListener('abort', interrupt, { once: true });
  return {
    ...shadow,
    adopt({ fingerprint, coolDownMs, reason = 'burst', strikes, ...change }) {
      const isUsable = 'state' in change && change.state === 'active';
      backend.pool.adopt({ fingerprint, coolDownMs: isUsable ? 0 : coolDownMs, reason, strikes });
    },
  };
};
