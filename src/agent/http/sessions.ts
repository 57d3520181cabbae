import { Fault } from '../../core/fault.ts';
import { json } from '../../core/http/json-response.ts';
import type { RouteTable } from '../../core/http/router.ts';
import { agentNamed, modelNamed } from '../agents/catalog.ts';
import type { RouteNeeds } from '../context.ts';
import { readBody, SessionChangeIn, SessionIn } from '../protocol/request-schemas.ts';
import { directoryOf, queryOf, wholeNumber } from './query.ts';

const noSuch = (what: string) => new Fault({ kind: 'not-found', hint: `${what} not found` });

const noParent = () =>
  new Fault({
    kind: 'bad-input',
    code: 'unknown_parent',
    param: 'parentID',
    message: 'parentID: expected the id of a session',
  });

/** Sessions: made, listed, changed, removed, looked at and stopped. */
export const sessionRoutes = (needs: RouteNeeds): RouteTable => {
  const { store, sessions, voices, runs, directory } = needs;
  /** Ends what runs in a session and in all below it, and lets nothing begin there any more. Those at the bottom come first. */
  const closeFamily = async (id: string): Promise<readonly string[]> => {
    await runs.close(id);
    // Asked once nothing in it can make others.
    const children = await store.sessions({ parentID: id });
    const below = await Promise.all(children.map((child) => closeFamily(child.id)));
    return [...below.flat(), id];
  };
  const removeFamily = async (id: string): Promise<void> => {
    const family = await closeFamily(id);
    try {
      for (const one of family) {
        await sessions.remove(one).catch((error: unknown) => {
          // Somebody else may have removed it meanwhile.
          if (!(error instanceof Fault && error.detail.kind === 'not-found')) throw error;
        });
      }
    } finally {
      // They are gone, or else they stay.
      for (const one of family) runs.open(one);
    }
  };
  return {
    '/session': {
      async GET(request) {
        const query = queryOf(request);
        const [search, asked] = [query.get('search'), query.get('directory')];
        const limit = wholeNumber(query, 'limit', 10_000);
        const updatedSince = wholeNumber(query, 'start', Number.MAX_SAFE_INTEGER);
        const found = await store.sessions({
          ...(asked === null ? {} : { directory: asked }),
          ...(query.get('roots') === 'true' ? { areRoots: true } : {}),
          ...(search === null ? {} : { search }),
          ...(limit === undefined ? {} : { limit }),
          ...(updatedSince === undefined ? {} : { updatedSince }),
        });
        return json(200, found);
      },
      async POST(request) {
        const given = await readBody(request, SessionIn, true);
        const { parentID } = given;
        if (parentID !== undefined && (runs.isClosing(parentID) || (await store.session(parentID)) === undefined))
          throw noParent();
        if (given.agent !== undefined) agentNamed(voices, given.agent);
        if (given.model !== undefined) modelNamed(voices, given.model);
        return json(200, await sessions.create({ ...given, directory: directoryOf(request, directory) }));
      },
    },
    '/session/status': { GET: async () => json(200, await runs.statuses()) },
    '/session/:id': {
      GET: async (_request, { id = '' }) => json(200, await sessions.get(id)),
      async PATCH(request, { id = '' }) {
        const { title, metadata, permission, time } = await readBody(request, SessionChangeIn);
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
        return json(200, changed);
      },
      async DELETE(_request, { id = '' }) {
        await sessions.get(id);
        // With it go the sessions that it has handed work to.
        await removeFamily(id);
        return json(200, true);
      },
    },
    '/session/:id/children': {
      async GET(_request, { id = '' }) {
        await sessions.get(id);
        return json(200, await store.sessions({ parentID: id }));
      },
    },
    '/session/:id/abort': {
      async POST(_request, { id = '' }) {
        await sessions.get(id);
        await runs.abort(id);
        return json(200, true);
      },
    },
    '/session/:id/message/:messageID/part/:partID/output': {
      async GET(_request, { id = '', messageID = '', partID = '' }) {
        await sessions.get(id);
        const told = await store.message(id, messageID);
        if (told === undefined) throw noSuch('Message');
        const isInMessage = told.parts.some((part) => part.id === partID);
        const output = isInMessage ? await store.output(id, partID) : undefined;
        if (output === undefined) throw noSuch('Output');
        return new Response(output, { headers: { 'content-type': 'text/plain; charset=utf-8' } });
      },
    },
  };
};
