import type { Clock } from '../../core/clock.ts';
import type { Handler } from '../../core/http/handler.ts';
import { actorOf, barrierFor } from './auth.ts';
import { createControl, type RelayControl } from './control.ts';
import { internalError } from './envelope.ts';
import { type BalanceFault, createFaultQueue, type RouteFault } from './faults/names.ts';
import { createTrouble } from './faults/responses.ts';
import { createRouteFaults } from './faults/routes.ts';
import { createSeenRequests } from './recorded-requests.ts';
import { withoutSecrets } from './records/secrets.ts';
import { accountsTable } from './routes/accounts.ts';
import { createBalanceRoute } from './routes/balance.ts';
import { trapsTable } from './routes/forbidden.ts';
import { openTable, unknownPath } from './routes/health.ts';
import { modelsTable } from './routes/models.ts';
import { statsTable } from './routes/stats.ts';
import { type Call, createPaths, type Found, partsOf } from './routes/table.ts';
import { usersTable } from './routes/users.ts';
import { createWorld, type RelayWorld } from './world.ts';

export type DemoRelay = { readonly handler: Handler; readonly control: RelayControl };

export type DemoRelayNeeds = {
  readonly clock: Clock;
  readonly newId: () => string;
  /** `DEMO_ADMIN_KEY` unless given. */
  readonly adminKey?: string;
  /** Breaks the connection of a request; what the handler returns for it must then not be sent. */
  readonly drop?: (request: Request) => void;
};

const BALANCE = 'POST users/:id/balance';

const bodyOf = (request: Request): Promise<string | undefined> => request.text().catch(() => undefined);

const misplaced = (found: Exclude<Found, { kind: 'route' }>, method: string): Response => {
  if (found.kind === 'malformed') return new Response('400 Bad Request', { status: 400 });
  if (found.kind === 'unknown') return unknownPath();
  return new Response(null, { status: method === 'GET' ? 301 : 307, headers: { location: found.location } });
};

/** Streams are left alone: none of them comes from a route. */
const shown = async ({ dials }: RelayWorld, reply: Response): Promise<Response> =>
  dials.arePlanted || reply.body === null
    ? reply
    : new Response(withoutSecrets(await reply.text(), dials.adminKey), reply);

/**
 * A relay platform to try the admin tools on: its admin API with its manners and its traps, in memory. It never
 * rejects, and only its control can make it misbehave. It reads whole bodies, so keep it on loopback.
 */
export const createDemoRelay = (needs: DemoRelayNeeds): DemoRelay => {
  const world = createWorld(needs);
  const seen = createSeenRequests();
  const balanceFaults = createFaultQueue<BalanceFault>();
  const routeFaults = createFaultQueue<RouteFault>();
  const trouble = createTrouble({ world, drop: needs.drop });
  const bringFault = createRouteFaults({ world, trouble });
  const trapped: string[] = [];
  const targets = new WeakMap<Request, string>();

  const traps = trapsTable(world);
  const find = createPaths({
    ...openTable(world),
    ...usersTable(world),
    ...accountsTable(world),
    ...modelsTable(world),
    ...statsTable(world),
    ...traps,
    [BALANCE]: createBalanceRoute({ world, trouble, faults: balanceFaults, actorId: () => actorOf(world) ?? 0 }),
  });

  const answer = async (found: Found, call: Omit<Call, 'params'>): Promise<Response> => {
    const { method, headers } = call.request;
    if (found.kind !== 'route') return misplaced(found, method);
    const { pattern, params, route } = found;
    if (Object.hasOwn(traps, pattern)) trapped.push(pattern);
    const barrier = pattern.includes(' /') ? undefined : barrierFor(world, headers, pattern);
    return barrier ?? route({ ...call, params });
  };

  const handle: Handler = async (request) => {
    const url = new URL(request.url);
    const target = targets.get(request) ?? url.pathname + url.search;
    const { method, headers } = request;
    const body = await bodyOf(request);
    // Whoever left before the end of the body hears nothing.
    if (body === undefined) return new Response(null, { status: 400 });
    seen.add({ method, target, headers: Object.fromEntries(headers), body, at: world.clock.now() });
    const query = new URLSearchParams(partsOf(target).search);
    const found = find(method, target);
    const call = { request, target, query, body };
    if (found.kind === 'route' && found.pattern === BALANCE) return answer(found, { ...call, isIgnored: false });
    const answerIt = async (isIgnored: boolean) => shown(world, await answer(found, { ...call, isIgnored }));
    const fault = routeFaults.take(target);
    return fault === undefined ? answerIt(false) : bringFault(fault, { request, answer: answerIt });
  };

  return {
    handler: (request) => handle(request).catch(() => internalError()),
    control: createControl({ world, seen, traps: trapped, balanceFaults, routeFaults, targets }),
  };
};
