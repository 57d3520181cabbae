import type { Clock } from '../../../src/core/clock.ts';
import type { Handler } from '../../../src/core/http/handler.ts';
import type { SeenRequest } from '../../../src/demo/relay/interceptor.ts';
import type { DemoAccount } from '../../../src/demo/relay/records/accounts.ts';
import type { DemoChannel, DemoGroup } from '../../../src/demo/relay/records/models.ts';
import { type DemoUser, type HistoryRow, toUnits } from '../../../src/demo/relay/records/users.ts';
import { createDemoRelay } from '../../../src/demo/relay/relay.ts';
import type { Credit, HealthAnswer } from '../../../src/demo/relay/world.ts';
import { createBalanceHooks } from './faults/balance.ts';
import { type BalanceFault, createFaultQueue, type RouteFault } from './faults/names.ts';
import { createFaultResponses, type FaultSettings } from './faults/responses.ts';
import { createRouteFaults } from './faults/routes.ts';

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
  /** Takes the key the right to these routes, such as `GET users/:id`. */
  readonly forbid: (routes: RegExp) => void;
  readonly setTermsAccepted: (areAccepted: boolean) => void;
  readonly setHealthAnswer: (answer: HealthAnswer) => void;
  readonly setDatabaseDown: (isDown: boolean) => void;
  readonly setModelAllowlist: (hasModelAllowlist: boolean) => void;
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

const byId = <One extends { readonly id: number }>(all: readonly One[], id: number): One => {
  const found = all.find((one) => one.id === id);
  if (found === undefined) throw new RangeError(`The demo relay has no record ${id}`);
  return found;
};

const MAX_SEEN_REQUESTS = 5000;

type FaultyRelayNeeds = {
  readonly clock: Clock;
  readonly newId: () => string;
  /** `DEMO_ADMIN_KEY` unless given. */
  readonly adminKey?: string;
  /** Breaks the connection of a request; what the handler returns for it must then not be sent. */
  readonly drop?: (request: Request) => void;
};

/** A demo relay that a test can make fail, and the control that does it. */
export const createFaultyRelay = ({
  drop,
  ...needs
}: FaultyRelayNeeds): { readonly handler: Handler; readonly control: RelayControl } => {
  const { clock } = needs;
  const settings: FaultSettings = { location: 'https://elsewhere.example/', delayMs: 1000, retryAfterSeconds: 7 };
  const responses = createFaultResponses({ clock, settings, drop });
  const answerWithFault = createRouteFaults({ clock, settings, responses });
  const balanceFaults = createFaultQueue<BalanceFault>();
  const routeFaults = createFaultQueue<RouteFault>();
  const seen: SeenRequest[] = [];
  const forbidden: string[] = [];
  const targets = new WeakMap<Request, string>();
  const { handler, world } = createDemoRelay({
    ...needs,
    interceptor: {
      targetOf: (request) => targets.get(request),
      onRequest(request) {
        seen.push(request);
        if (seen.length > MAX_SEEN_REQUESTS) seen.shift();
      },
      onForbidden: (pattern) => void forbidden.push(pattern),
      answerRoute(request, target, answer) {
        const fault = routeFaults.take(target);
        return fault === undefined ? answer(false) : answerWithFault(fault, { request, answer });
      },
      balanceHooks(request, target) {
        const fault = balanceFaults.take(target);
        if (fault === undefined) return undefined;
        return createBalanceHooks({ clock, settings, responses, spendCredit, hideUser }, fault, request);
      },
    },
  });
  const { settings: relaySettings, users, history, accounts, groups, channels } = world;
  const user = (id: number): DemoUser => byId(users, id);
  const lastCredit = (): Credit => {
    const credit = world.credits.at(-1);
    if (credit === undefined) throw new RangeError('The demo relay has made no credit');
    return credit;
  };
  const spendCredit = (): void => {
    const { userId, amount } = lastCredit();
    user(userId).balance -= toUnits(amount);
  };
  const hideUser = (): void => routeFaults.add('unauthorized', 1, new RegExp(`users/${lastCredit().userId}$`));
  const control: RelayControl = {
    users,
    history,
    accounts,
    groups,
    channels,
    user,
    account: (id) => byId(accounts, id),
    credits: () => [...world.credits],
    requests: () => [...seen],
    clearRequests() {
      seen.length = 0;
    },
    traps: () => [...forbidden],
    useFault: (fault, times) => balanceFaults.add(fault, times),
    useRouteFault: (fault, times, target) => routeFaults.add(fault, times, target),
    clearFaults() {
      balanceFaults.clear();
      routeFaults.clear();
    },
    setKey(key) {
      relaySettings.adminKey = key;
    },
    forbid(routes) {
      relaySettings.forbidden = routes;
    },
    setTermsAccepted(areAccepted) {
      relaySettings.areTermsAccepted = areAccepted;
    },
    setHealthAnswer(answer) {
      relaySettings.health = answer;
    },
    setDatabaseDown(isDown) {
      relaySettings.isDatabaseDown = isDown;
    },
    setModelAllowlist(hasModelAllowlist) {
      relaySettings.hasModelAllowlist = hasModelAllowlist;
    },
    setVersion(version) {
      relaySettings.version = version;
    },
    setLocation(url) {
      settings.location = url;
    },
    setDelayMs(ms) {
      settings.delayMs = ms;
    },
    setRetryAfter(seconds) {
      settings.retryAfterSeconds = seconds;
    },
    plantSecrets(arePlanted) {
      relaySettings.arePlanted = arePlanted;
    },
    debit(userId, amount) {
      user(userId).balance -= toUnits(amount);
    },
    setRunningDebit(userId, amount) {
      user(userId).running_debit = toUnits(amount);
    },
    nameTarget: (request, target) => void targets.set(request, target),
  };
  return { handler, control };
};
