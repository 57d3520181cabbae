import { Fault } from '../../core/fault.ts';
import { jsonResponse } from '../../core/http/response.ts';
import type { RouteTable } from '../../core/http/router.ts';
import { requireAgent, requireModel } from '../agents/catalog.ts';
import { holdUntilDelivered } from '../events/readers.ts';
import { ForkBody, RevertBody, SessionBody, SessionChangeBody, SummarizeBody } from '../protocol/request-schemas.ts';
import { CALL_NOT_AWAITED, endAwaitedCalls } from '../session/awaited-calls.ts';
import { deleteFamily } from '../session/family.ts';
import { forkSession } from '../session/fork.ts';
import { messagesRemoval, removeWhileIdle, revertSession, unrevertSession } from '../session/revert.ts';
import { notFound } from '../session/sessions.ts';
import { requestSummary } from '../turn/summary-request.ts';
import type { RouteContext } from './context.ts';
import { toFailureBody } from './errors.ts';
import { jsonResponseWhenReady } from './messages.ts';
import { parseQuery, placeParameter, requestDirectory, wholeNumberParameter } from './query.ts';

const unknownParent = () =>
  new Fault({
    kind: 'bad-input',
    code: 'unknown_parent',
    param: 'parentID',
    message: 'parentID: expected the id of a session',
  });

/** Creates, lists, reads, changes, removes and aborts sessions. */
export const sessionRoutes = (context: RouteContext): RouteTable => {
  const { store, sessions, catalog, runs, directory, readBody } = context;
  return {
    '/session': {
      async GET(request) {
        const query = parseQuery(request);
        const [search, inDirectory] = [query.get('search'), query.get('directory')];
        const limit = wholeNumberParameter(query, 'limit', 10_000);
        const updatedSince = wholeNumberParameter(query, 'start', Number.MAX_SAFE_INTEGER);
        const after = placeParameter(query, 'before');
        const found = await store.sessions({
          ...(inDirectory === null ? {} : { directory: inDirectory }),
          ...(query.get('roots') === 'true' ? { areRoots: true } : {}),
          ...(search === null ? {} : { search }),
          ...(limit === undefined ? {} : { limit }),
          ...(updatedSince === undefined ? {} : { updatedSince }),
          ...(after === undefined ? {} : { after }),
        });
        return jsonResponse(200, found);
      },
      async POST(request) {
        const given = await readBody(request, SessionBody, true);
        const { parentID } = given;
        if (parentID !== undefined && (runs.isClosing(parentID) || (await store.session(parentID)) === undefined))
          throw unknownParent();
        if (given.agent !== undefined) requireAgent(catalog, given.agent);
        if (given.model !== undefined) requireModel(catalog, given.model);
        return jsonResponse(200, await sessions.create({ ...given, directory: requestDirectory(request, directory) }));
      },
    },
    '/session/status': { GET: async () => jsonResponse(200, await runs.statuses()) },
    '/session/:id': {
      GET: async (_request, { id = '' }) => jsonResponse(200, await sessions.get(id)),
      async PATCH(request, { id = '' }) {
        const { title, metadata, permission, time } = await readBody(request, SessionChangeBody);
        const changed = await sessions.update(id, (session) => {
          const { archived: before, ...times } = session.time;
          const archived = time?.archived === undefined ? before : (time.archived ?? undefined);
          return {
            ...session,
            ...(title === undefined ? {} : { title }),
            ...(metadata === undefined ? {} : { metadata }),
            ...(permission === undefined ? {} : { permission }),
            time: { ...times, ...(archived === undefined ? {} : { archived }) },
          };
        });
        return jsonResponse(200, changed);
      },
      async DELETE(_request, { id = '' }) {
        await sessions.get(id);
        // The sessions of its tasks are removed with it.
        await deleteFamily(context, id);
        return jsonResponse(200, true);
      },
    },
    '/session/:id/children': {
      async GET(_request, { id = '' }) {
        await sessions.get(id);
        return jsonResponse(200, await store.sessions({ parentID: id }));
      },
    },
    '/session/:id/abort': {
      async POST(request, { id = '' }) {
        await sessions.get(id);
        const promptID = parseQuery(request).get('prompt') ?? undefined;
        if (promptID === undefined) {
          await runs.abort(id);
          await endAwaitedCalls(context, id, { why: CALL_NOT_AWAITED.aborted });
        } else if ((await store.owed(id)).some((owed) => owed.promptID === promptID)) await runs.abort(id, promptID);
        return jsonResponse(200, true);
      },
    },
  };
};

/** Forks, reverts and summarizes a session, and reads and removes its messages. */
export const conversationRoutes = (context: RouteContext): RouteTable => {
  const { clock, store, sessions, runs, readBody, onBug } = context;
  /** Whether a summary replaces the earlier messages now. */
  const runSummary = async (request: Awaited<ReturnType<typeof requestSummary>>): Promise<boolean> => {
    if (request === undefined) return true;
    const { summary } = await runs.run(request.session, request.user);
    return summary === true;
  };
  return {
    '/session/:id/fork': {
      async POST(request, { id = '' }) {
        const { messageID } = await readBody(request, ForkBody, true);
        return jsonResponse(200, await forkSession(context, id, messageID));
      },
    },
    '/session/:id/revert': {
      async POST(request, { id = '' }) {
        const { messageID, partID } = await readBody(request, RevertBody);
        const target = { messageID, ...(partID === undefined ? {} : { partID }) };
        return jsonResponse(200, await revertSession(context, id, target));
      },
    },
    '/session/:id/unrevert': {
      POST: async (_request, { id = '' }) => jsonResponse(200, await unrevertSession(context, id)),
    },
    '/session/:id/summarize': {
      async POST(request, { id = '' }) {
        const { providerID, modelID } = await readBody(request, SummarizeBody);
        const summary = await requestSummary(context, id, { providerID, modelID });
        const held = holdUntilDelivered(context, runSummary(summary));
        return jsonResponseWhenReady(clock, held, (error) => {
          onBug(error);
          return toFailureBody(error, providerID);
        });
      },
    },
    '/session/:id/message/:messageID': {
      async GET(_request, { id = '', messageID = '' }) {
        await sessions.get(id);
        const message = await store.message(id, messageID);
        if (message === undefined) throw notFound('message', messageID);
        return jsonResponse(200, message);
      },
      async DELETE(_request, { id = '', messageID = '' }) {
        await removeWhileIdle(context, id, { messageID }, async () => {
          if ((await store.message(id, messageID)) === undefined) throw notFound('message', messageID);
          return messagesRemoval(id, [messageID]);
        });
        return jsonResponse(200, true);
      },
    },
  };
};
