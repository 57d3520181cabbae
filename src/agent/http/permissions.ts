import { Fault } from '../../core/fault.ts';
import { jsonResponse } from '../../core/http/response.ts';
import type { RouteTable } from '../../core/http/router.ts';
import { notFoundText } from '../../core/identifier.ts';
import { isId } from '../protocol/ids.ts';
import type { PermissionReply, PermissionRequest, StandingRule } from '../protocol/permissions.ts';
import { PermissionReplyBody, PermissionResponseBody } from '../protocol/request-schemas.ts';
import type { Session } from '../protocol/types.ts';
import { readAncestors, topSession } from '../session/family.ts';
import type { RouteContext } from './context.ts';
import { alwaysRefused, argumentsChanged, permissionDecided } from './errors.ts';
import { parseQuery, wholeNumberParameter } from './query.ts';

const permissionNotFound = (id: string) =>
  new Fault({
    kind: 'not-found',
    hint: `${notFoundText('permission request', isId('permission', id) ? id : undefined)}, or is no longer open`,
  });

/** A standing rule as it is listed: its id is that of the request whose reply has made it. */
const toListed = ({ id, sessionID, permission, covers, agent, by, at, until, uses }: StandingRule) => ({
  ...{ id, sessionID, permission, patterns: covers.map(({ pattern }) => pattern), agent, by },
  ...{ since: at, until, uses },
});

const DECISIONS = 50;
const MOST_DECISIONS = 1000;
/** Lists permission requests, takes the replies to them, and shows what was decided. */
export const permissionRoutes = ({ approvals, sessions, store, userName, readBody }: RouteContext): RouteTable => {
  /** A request with what a person needs to decide. The arguments are the value that the call is made with, and never cut. */
  const shown = (request: PermissionRequest, known: ReadonlyMap<string, Session>) => {
    const session = known.get(request.sessionID);
    const top = session && topSession(session, known);
    return {
      ...request,
      arguments: request.metadata.input,
      ...(session === undefined ? {} : { title: session.title }),
      ...(top === undefined || top.id === request.sessionID ? {} : { parent: { id: top.id, title: top.title } }),
    };
  };
  const reply = async (id: string, given: PermissionReply & { readonly by: string }): Promise<Response> => {
    const taken = await approvals.reply(id, given);
    if (taken === true) return jsonResponse(200, true);
    if (taken !== false) throw alwaysRefused(taken);
    const decided = await store.decision(id);
    throw decided === undefined ? permissionNotFound(id) : permissionDecided(decided);
  };
  const openRequest = async (id: string): Promise<PermissionRequest | undefined> =>
    (await approvals.open()).find((open) => open.id === id);
  return {
    '/permission': {
      async GET() {
        const open = await approvals.open();
        const known = await readAncestors(
          store,
          open.map(({ sessionID }) => sessionID),
        );
        return jsonResponse(
          200,
          open.map((request) => shown(request, known)),
        );
      },
    },
    '/permission/decisions': {
      async GET(request) {
        const query = parseQuery(request);
        const limit = wholeNumberParameter(query, 'limit', MOST_DECISIONS) ?? DECISIONS;
        const beforeID = query.get('before') ?? '';
        const isAsked = query.get('asked') === 'true' ? ({ isAsked: true } as const) : {};
        return jsonResponse(
          200,
          await store.decisions({ limit, ...isAsked, ...(beforeID === '' ? {} : { beforeID }) }),
        );
      },
    },
    '/permission/standing': {
      GET: async () => jsonResponse(200, (await approvals.standing.list()).map(toListed)),
    },
    '/permission/standing/:id': {
      async DELETE(_request, { id = '' }) {
        if (await approvals.standing.revoke(id)) return jsonResponse(200, true);
        const name = isId('permission', id) ? id : undefined;
        throw new Fault({ kind: 'not-found', hint: `${notFoundText('standing rule', name)}, or is over` });
      },
    },
    '/permission/:id/reply': {
      async POST(request, { id = '' }) {
        const { by = userName, argumentsHash, ...given } = await readBody(request, PermissionReplyBody);
        if (argumentsHash !== undefined) {
          const open = await openRequest(id);
          if (open !== undefined && open.argumentsHash !== argumentsHash) throw argumentsChanged();
        }
        const message = given.reply === 'reject' ? given.message : undefined;
        return reply(id, { reply: given.reply, ...(message === undefined ? {} : { message }), by });
      },
    },
    '/session/:id/permissions/:permissionID': {
      async POST(request, { id = '', permissionID = '' }) {
        await sessions.get(id);
        const { response } = await readBody(request, PermissionResponseBody);
        const sessionID = ((await openRequest(permissionID)) ?? (await store.decision(permissionID)))?.sessionID;
        if (sessionID !== id) throw permissionNotFound(permissionID);
        return reply(permissionID, { reply: response, by: userName });
      },
    },
  };
};
