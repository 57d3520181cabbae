import type { Clock } from '../../core/clock.ts';
import type { Handler } from '../../core/http/handler.ts';
import { checkAccess, findActor } from './auth.ts';
import { internalError } from './envelope.ts';
import type { RelayInterceptor } from './interceptor.ts';
import { removeSecrets } from './records/secrets.ts';
import { accountsTable } from './routes/accounts.ts';
import { auditTable } from './routes/audit.ts';
import { createBalanceRoute } from './routes/balance.ts';
import { forbiddenTable } from './routes/forbidden.ts';
import { openTable, unknownPath } from './routes/health.ts';
import { modelsTable } from './routes/models.ts';
import { moderationTable } from './routes/moderation.ts';
import { statsTable } from './routes/stats.ts';
import { createRouteFinder, type FoundRoute, type RelayCall, splitTarget } from './routes/table.ts';
import { usersTable } from './routes/users.ts';
import { createRelayWorld, type RelayWorld } from './world.ts';

type DemoRelay = { readonly handler: Handler; readonly world: RelayWorld };

type DemoRelayNeeds = {
  readonly clock: Clock;
  readonly newId: () => string;
  /** `DEMO_ADMIN_KEY` unless given. */
  readonly adminKey?: string;
  readonly interceptor?: RelayInterceptor;
  /** Carries the calls of its moderation client and its prompt audit; without it, users' chats are not judged. */
  readonly sendModeration?: (request: Request) => Promise<Response>;
  /** The keys of its moderation client: one of no use unless given. */
  readonly moderationKeys?: readonly string[];
};

const BALANCE = 'POST users/:id/balance';

const readBody = (request: Request): Promise<string | undefined> => request.text().catch(() => undefined);

const respondWithoutRoute = (found: Exclude<FoundRoute, { kind: 'route' }>, method: string): Response => {
  if (found.kind === 'malformed') return new Response('400 Bad Request', { status: 400 });
  if (found.kind === 'unknown') return unknownPath();
  return new Response(null, { status: method === 'GET' ? 301 : 307, headers: { location: found.location } });
};

/** Removes the planted secrets from a response, unless they are switched on. */
const removePlantedSecrets = async ({ settings }: RelayWorld, reply: Response): Promise<Response> =>
  settings.arePlanted || reply.body === null
    ? reply
    : new Response(removeSecrets(await reply.text(), settings.adminKey), reply);

/**
 * Creates a relay platform for the admin tools: its admin API, with its peculiarities and its forbidden routes, in memory.
 * It never rejects, and fails only when an interceptor makes it. It reads whole bodies, so keep it on loopback.
 */
export const createDemoRelay = ({ interceptor, sendModeration, ...needs }: DemoRelayNeeds): DemoRelay => {
  const world = createRelayWorld(needs);
  const forbidden = forbiddenTable(world);
  const find = createRouteFinder({
    ...openTable(world),
    ...usersTable(world),
    ...accountsTable(world),
    ...modelsTable(world),
    ...statsTable(world),
    ...moderationTable(world, sendModeration),
    ...auditTable(world),
    ...forbidden,
    [BALANCE]: createBalanceRoute({ world, hooksFor: interceptor?.balanceHooks, actorId: () => findActor(world) ?? 0 }),
  });

  const answer = async (found: FoundRoute, call: Omit<RelayCall, 'params'>): Promise<Response> => {
    const { method, headers } = call.request;
    if (found.kind !== 'route') return respondWithoutRoute(found, method);
    const { pattern, params, route } = found;
    if (Object.hasOwn(forbidden, pattern)) interceptor?.onForbidden(pattern);
    const barrier = pattern.includes(' /') ? undefined : checkAccess(world, headers, pattern);
    return barrier ?? route({ ...call, params });
  };

  const handle: Handler = async (request) => {
    const url = new URL(request.url);
    const target = interceptor?.targetOf(request) ?? url.pathname + url.search;
    const { method, headers } = request;
    const body = await readBody(request);
    // The caller disconnected before the end of the body.
    if (body === undefined) return new Response(null, { status: 400 });
    interceptor?.onRequest({ method, target, headers: Object.fromEntries(headers), body, at: world.clock.now() });
    const query = new URLSearchParams(splitTarget(target).search);
    const found = find(method, target);
    const call = { request, target, query, body };
    if (found.kind === 'route' && found.pattern === BALANCE) return answer(found, { ...call, isIgnored: false });
    const answerRoute = async (isIgnored: boolean) =>
      removePlantedSecrets(world, await answer(found, { ...call, isIgnored }));
    return interceptor === undefined ? answerRoute(false) : interceptor.answerRoute(request, target, answerRoute);
  };

  return { handler: (request) => handle(request).catch(() => internalError()), world };
};
