import { Fault } from '../../core/fault.ts';
import { jsonResponse } from '../../core/http/response.ts';
import type { RouteTable } from '../../core/http/router.ts';
import { pushedSseResponse, sendWhileRead } from '../../core/http/sse.ts';
import type { Turn } from '../protocol/turns.ts';
import { DecisionsBody, LeaveBody, TurnBody } from '../turns/body.ts';
import { findDecided, replyToAll, waitingTurns } from '../turns/decisions.ts';
import type { Begun } from '../turns/new-turn.ts';
import { followTurn, type ReaderEnd } from '../turns/output/reader.ts';
import { readFacts, readLog, type TurnFacts, toShownTurn } from '../turns/output/view.ts';
import { requireTurn } from '../turns/records.ts';
import { turnRefusal } from '../turns/refusals.ts';
import { deleteTurn } from '../turns/removal.ts';
import { readAskedTurn } from '../turns/request.ts';
import type { RouteContext } from './context.ts';
import { parseQuery, requestDirectory, wholeNumberParameter } from './query.ts';

const OWNER_HEADER = 'x-gatehouse-owner';
const OWNER = /^[!-~]{1,128}$/;

/** Whose turns and conversations a request is about. */
export const requireOwner = ({ headers }: Request): string => {
  const owner = headers.get(OWNER_HEADER) ?? '';
  if (OWNER.test(owner)) return owner;
  const message = `${OWNER_HEADER}: expected 1 to 128 printable ASCII characters without blanks`;
  throw new Fault({ kind: 'bad-input', code: 'invalid_owner', param: OWNER_HEADER, message });
};

/** A stream of a turn's output. */
type OutputStream = {
  readonly facts: TurnFacts;
  readonly after: number;
  readonly isFresh: boolean;
  readonly first: unknown;
  readonly reader: string | undefined;
};

/** Begins, reads, leaves, cancels and removes turns. */
export const turnRoutes = (context: RouteContext): RouteTable => {
  const { clock, store, runs, directory, userName, turns, digest, runInSlices, readBody, onBug } = context;
  const heartbeat = () => ({ comment: 'waiting' });

  const stream = ({ facts, after, isFresh, first, reader }: OutputStream): Response =>
    pushedSseResponse(
      async (send, left) => {
        const unread = new AbortController();
        const give = sendWhileRead(send, clock, () => unread.abort());
        left.addEventListener('abort', () => unread.abort(), { once: true });
        const stopAttending = reader === undefined ? () => {} : turns.leaving.attend(facts.turn, reader);
        let end: ReaderEnd = 'left';
        try {
          const following = { facts, after, isFresh, first };
          end = await followTurn({ ...context, ...turns }, following, { send: give, left: unread.signal });
        } finally {
          stopAttending(end === 'left');
        }
      },
      { clock, heartbeat, onBug },
    );
  const viewOf = async (turn: Turn) => toShownTurn(await readFacts(context, turn));
  const begin = (request: Request): Promise<{ readonly begun: Begun; readonly isStream: boolean }> =>
    runs.whileAccepting(async () => {
      const owner = requireOwner(request);
      const body = await readBody(request, TurnBody);
      const { signal } = new AbortController();
      const asked = await runInSlices(readAskedTurn(owner, body, digest), request.signal);
      const span = context.spanOf(request);
      const from = { span, directory: requestDirectory(request, directory), by: userName, signal };
      return { begun: await turns.begin(asked, from), isStream: body.stream };
    });
  /** Those that wait for decisions, or those of one prompt. */
  const turnsWhere = async (owner: string, query: URLSearchParams): Promise<readonly Turn[]> => {
    const sessionID = query.get('sessionID');
    if (sessionID === null) return waitingTurns(context, owner);
    const found = await store.turns.ofPrompt(sessionID, query.get('promptID') ?? '');
    return found.filter((turn) => turn.owner === owner);
  };
  return {
    '/gatehouse/turns': {
      async GET(request) {
        const turns = await turnsWhere(requireOwner(request), parseQuery(request));
        return jsonResponse(200, await Promise.all(turns.map(viewOf)));
      },
      async POST(request) {
        const { begun, isStream } = await begin(request);
        const { outcome, reader, facts, isFresh, start } = begun;
        const first = { outcome, reader, turn: toShownTurn(facts) };
        const after = facts.turn.from;
        const response = isStream ? stream({ facts, after, isFresh, first, reader }) : jsonResponse(200, first);
        start();
        return response;
      },
    },
    '/gatehouse/turns/:id': {
      GET: async (request, { id = '' }) =>
        jsonResponse(200, await viewOf(await requireTurn(store, requireOwner(request), id))),
      async DELETE(request, { id = '' }) {
        await deleteTurn(context, requireOwner(request), id);
        return jsonResponse(200, true);
      },
    },
    '/gatehouse/turns/:id/output': {
      async GET(request, { id = '' }) {
        const turn = await requireTurn(store, requireOwner(request), id);
        const query = parseQuery(request);
        const after = Math.max(turn.from, wholeNumberParameter(query, 'after', Number.MAX_SAFE_INTEGER) ?? 0);
        const facts = await readFacts(context, turn);
        const view = toShownTurn(facts);
        if (query.get('stream') !== 'true')
          return jsonResponse(200, { entries: await readLog(store, turn, after), turn: view });
        const reader = query.get('reader') ?? undefined;
        return stream({ facts, after, isFresh: false, first: view, reader });
      },
    },
    '/gatehouse/turns/:id/leave': {
      async POST(request, { id = '' }) {
        const owner = requireOwner(request);
        const left = await readBody(request, LeaveBody);
        return jsonResponse(200, await viewOf(await turns.leaving.leave({ owner, id }, left)));
      },
    },
    '/gatehouse/turns/:id/cancel': {
      POST: async (request, { id = '' }) =>
        jsonResponse(200, await viewOf(await turns.leaving.cancel({ owner: requireOwner(request), id }))),
    },
    '/gatehouse/turns/:id/decisions': {
      async POST(request, { id = '' }) {
        const owner = requireOwner(request);
        const { decisions, by = userName } = await readBody(request, DecisionsBody);
        const turn = await requireTurn(store, owner, id);
        const waiting = await findDecided(context, owner, { decisions, conversation: undefined });
        if (waiting.sessionID !== turn.sessionID) throw turnRefusal('no_such_request');
        await replyToAll(context, decisions, by);
        return jsonResponse(200, await viewOf(await requireTurn(store, owner, id)));
      },
    },
  };
};
