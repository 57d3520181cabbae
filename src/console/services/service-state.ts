import type { Runtime } from '../../core/runtime.ts';
import type { ServiceState } from '../protocol.ts';
import type { SecretFilter } from './secret-filter.ts';

/** Whether a service answers, as it was last seen. */
export type KnownState = {
  readonly get: () => ServiceState;
  /** Notes the state, and logs it where it is another one. Returns whether it is. */
  readonly set: (next: SeenState) => boolean;
};

/** The state of a service, and what says so. */
export type SeenState = Pick<ServiceState, 'state' | 'reason'>;

/** What a state is made with. `hide`: a service may write a secret into its reason, which is logged. */
export type StateNeeds = Pick<Runtime, 'clock' | 'log'> & { readonly hide: SecretFilter };

/** Creates the state of a service that was not asked yet. */
export const createServiceState = (
  { part, address }: Pick<ServiceState, 'part' | 'address'>,
  { clock, log, hide }: StateNeeds,
): KnownState => {
  let known: ServiceState = { part, address, state: 'down', since: clock.now(), reason: 'starting' };
  const name = part === 'agent' ? 'agent' : 'service';
  return {
    get: () => known,
    set({ state, reason: written }) {
      const reason = written === undefined ? undefined : hide(written);
      // Also the first failure, and another reason: a server that was never reached is no less lost.
      if (known.state === state && known.reason === reason) return false;
      const shown = reason === undefined ? {} : { reason };
      known = { part, address, state, since: known.state === state ? known.since : clock.now(), ...shown };
      const fields = { ...(part === 'agent' ? {} : { part }), address, ...shown };
      log(state === 'up' ? 'info' : 'warn', `${name}-${state === 'up' ? 'reached' : 'lost'}`, fields);
      return true;
    },
  };
};
