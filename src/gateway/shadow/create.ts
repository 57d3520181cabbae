import type { ByteBudget } from '../../core/byte-budget.ts';
import { Fault } from '../../core/fault.ts';
import { createSemaphore, type Semaphore } from '../../core/semaphore.ts';
import type { KeyChange, SharedCoolDown } from '../../llm/key-state.ts';
import { createJudgeBackend, type JudgeBackendNeeds } from '../backend.ts';
import { createVerdictCache } from '../judge/cache.ts';
import { createFindUnseen } from '../judge/chain/fitness.ts';
import { createModeration, type ModerationNeeds } from '../judge/moderation.ts';
import type { GatewayMetrics } from '../metrics.ts';
import type { PolicySelection } from '../policy/policy.ts';
import type { ShadowSettings } from '../policy/shadow-settings.ts';
import { createShadow, type Shadow } from './shadow.ts';

type GatewayShadowNeeds = Pick<JudgeBackendNeeds, 'baseUrl' | 'dialect' | 'keys' | 'httpClient' | 'log'> & {
  readonly settings: ShadowSettings;
  readonly policies: PolicySelection;
  readonly metrics: Pick<GatewayMetrics, 'shadow' | 'shadowFound'>;
  readonly isStopping: () => boolean;
  /** Ends what runs. */
  readonly stopSignal?: AbortSignal | undefined;
  readonly keepDisagreement?: ((line: string) => void) | undefined;
  /** What clients' bodies are taken from. */
  readonly budget: ByteBudget;
  /** What clients' texts are judged with. */
  readonly live: Omit<ModerationNeeds, 'policy'> & { readonly semaphore: Semaphore };
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
  const { settings, policies, live, stopSignal } = needs;
  const { clock, semaphore } = live;
  const backend = createJudgeBackend({
    ...needs,
    clock,
    log() {},
    onAttempt() {},
    onKeyChange() {},
    ollamaSettings: [],
  });
  const semaphoreOfShadow = createBorrowedPlaces(settings.calls, semaphore, () => shadow.interrupt());
  const shadow = createShadow({
    ...needs,
    clock,
    policy: policies.shadow,
    keep: needs.keepDisagreement,
    digest: live.digest,
    deadlineMs: live.settings.REQUEST_DEADLINE_MS,
    findUnseen: createFindUnseen(backend.findTraits),
    isBusy: () => semaphore.waiting() > 0,
    itemsBy: (policy) =>
      createModeration({
        ...live,
        policy,
        upstream: backend.upstream,
        semaphore: semaphoreOfShadow,
        cache: createVerdictCache(0, 0, clock.now),
        shared: undefined,
        onUnusable() {},
        settings: { ...live.settings, HEDGE_AFTER_MS: 0 },
      }).items,
  });
  stopSignal?.addEventListener('abort', shadow.interrupt, { once: true });
  return {
    ...shadow,
    adopt({ fingerprint, coolDownMs, reason = 'burst', strikes, ...change }) {
      const isUsable = 'state' in change && change.state === 'active';
      backend.pool.adopt({ fingerprint, coolDownMs: isUsable ? 0 : coolDownMs, reason, strikes });
    },
  };
};
