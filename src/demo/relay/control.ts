import type { BalanceFault, FaultQueue, RouteFault } from './faults/names.ts';
import type { createSeenRequests, SeenRequest } from './recorded-requests.ts';
import type { DemoAccount } from './records/accounts.ts';
import type { DemoChannel, DemoGroup } from './records/models.ts';
import { type DemoUser, type HistoryRow, unitsOf } from './records/users.ts';

import type { Credit, HealthAnswer, RelayWorld } from './world.ts';

/** What a test, or a demo, turns and looks at behind the relay's back. Amounts are decimal texts. */
export type RelayControl = {
  /** The records themselves: a change shows with the next request. Money is in units of 1e-8. */
  readonly users: DemoUser[];
  readonly history: HistoryRow[];
  readonly accounts: DemoAccount[];
  readonly groups: DemoGroup[];
  readonly channels: DemoChannel[];
  /** Fails for an id that is nobody's. */
  readonly user: (id: number) => DemoUser;
  readonly account: (id: number) => DemoAccount;
  /** Every change of a balance that was really made, in order. */
  readonly credits: () => readonly Credit[];
  readonly requests: () => readonly SeenRequest[];
  readonly clearRequests: () => void;
  /** The routes no tool may reach that were reached, as `GET proxies`. */
  readonly traps: () => readonly string[];
  /** Waits for the next POST of a balance, or the next `times` of them; after those that wait already. */
  readonly useFault: (fault: BalanceFault, times?: number) => void;
  /** The same for every other request, health included; `target` narrows it to a path and query. */
  readonly useRouteFault: (fault: RouteFault, times?: number, target?: RegExp) => void;
  readonly clearFaults: () => void;
  readonly setKey: (key: string) => void;
  readonly setTermsAccepted: (areAccepted: boolean) => void;
  readonly setHealthAnswer: (answer: HealthAnswer) => void;
  readonly setVersion: (version: string) => void;
  readonly setLocation: (url: string) => void;
  readonly setDelayMs: (ms: number) => void;
  readonly setRetryAfter: (seconds: number | undefined) => void;
  readonly plantSecrets: (arePlanted: boolean) => void;
  readonly debit: (userId: number, amount: string) => void;
  /** Taken off before each request that touches the user, for as long as it is not `0`. */
  readonly setRunningDebit: (userId: number, amount: string) => void;
  /** For the server in front: what stood on the wire, which a Request's own address no longer shows. */
  readonly nameTarget: (request: Request, target: string) => void;
};

type ControlNeeds = {
  readonly world: RelayWorld;
  readonly seen: ReturnType<typeof createSeenRequests>;
  readonly traps: readonly string[];
  readonly balanceFaults: FaultQueue<BalanceFault>;
  readonly routeFaults: FaultQueue<RouteFault>;
  readonly targets: WeakMap<Request, string>;
};

const byId = <One extends { readonly id: number }>(all: readonly One[], id: number): One => {
  const found = all.find((one) => one.id === id);
  if (found === undefined) throw new RangeError(`The demo relay has no record ${id}`);
  return found;
};

export const createControl = (needs: ControlNeeds): RelayControl => {
  const { world, seen, traps, balanceFaults, routeFaults, targets } = needs;
  const { dials, users, history, accounts, groups, channels } = world;
  const user = (id: number): DemoUser => byId(users, id);
  return {
    users,
    history,
    accounts,
    groups,
    channels,
    user,
    account: (id) => byId(accounts, id),
    credits: () => [...world.credits],
    requests: seen.all,
    clearRequests: seen.clear,
    traps: () => [...traps],
    useFault: (fault, times) => balanceFaults.add(fault, times),
    useRouteFault: (fault, times, target) => routeFaults.add(fault, times, target),
    clearFaults() {
      balanceFaults.clear();
      routeFaults.clear();
    },
    setKey(key) {
      dials.adminKey = key;
    },
    setTermsAccepted(areAccepted) {
      dials.areTermsAccepted = areAccepted;
    },
    setHealthAnswer(answer) {
      dials.health = answer;
    },
    setVersion(version) {
      dials.version = version;
    },
    setLocation(url) {
      dials.location = url;
    },
    setDelayMs(ms) {
      dials.delayMs = ms;
    },
    setRetryAfter(seconds) {
      dials.retryAfterSeconds = seconds;
    },
    plantSecrets(arePlanted) {
      dials.arePlanted = arePlanted;
    },
    debit(userId, amount) {
      user(userId).balance -= unitsOf(amount);
    },
    setRunningDebit(userId, amount) {
      user(userId).running_debit = unitsOf(amount);
    },
    nameTarget: (request, target) => void targets.set(request, target),
  };
};
