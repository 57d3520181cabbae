import { Fault } from '../../core/fault.ts';
import { jsonResponse } from '../../core/http/response.ts';
import type { RouteTable } from '../../core/http/router.ts';
import { notFoundText } from '../../core/identifier.ts';
import type { RouteContext } from '../context.ts';
import { isId } from '../protocol/ids.ts';
import type { PermissionReply, PermissionRequest } from '../protocol/permissions.ts';
import { PermissionReplyBody, PermissionResponseBody } from '../protocol/request-schemas.ts';
import type { Session } from '../protocol/types.ts';
import { readAncestors, topSession } from '../session/ancestors.ts';
import { argumentsChanged, permissionDecided } from './errors.ts';
import { parseQuery, wholeNumberParameter } from './query.ts';

const permissionNotFound = (id: string) =>
  new Fault({
    kind: 'not-found',
    hint: `${notFoundText('permission request', isId('permission', id) ? id : undefined)}, or is no longer open`,
  });

/** Who decided, where a client gives no name and this server asks for none. */
const UNKNOWN = 'unknown';
const DECISIONS = 50;
const MOST_DECISIONS = 1000;
/** Lists permission requests, takes the replies to them, and shows what was decided. */
export const permissionRoutes = ({
  approvals,
  sessions,
  store,
  userName = UNKNOWN,
  readBody,
}: Pick<RouteContext, 'approvals' | 'sessions' | 'store' | 'userName' | 'readBody'>): RouteTable => {
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
    if (await approvals.reply(id, given)) return jsonResponse(200, true);
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
        return jsonResponse(200, await store.decisions({ limit, ...(beforeID === '' ? {} : { beforeID }) }));
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
