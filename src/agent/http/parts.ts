import { Fault } from '../../core/fault.ts';
import { jsonResponse } from '../../core/http/response.ts';
import type { RouteTable } from '../../core/http/router.ts';
import type { RouteContext } from '../context.ts';
import { partPublication } from '../events/records.ts';
import { PartChangeBody } from '../protocol/part-schemas.ts';
import type { Part } from '../protocol/types.ts';
import { CALL_NOT_AWAITED, endAwaitedCalls } from '../session/awaited-calls.ts';
import { toStoredPart } from '../session/prompt.ts';
import { partsRemoval, requireIdle } from '../session/revert.ts';
import { notFound, requireCapacity } from '../session/sessions.ts';

const wrongPart = (param: string, expected: string): Fault =>
  new Fault({ kind: 'bad-input', code: 'invalid_body', param, message: `${param}: expected ${expected}` });

/** Changes and removes single parts of messages, and reads the whole output of a call. */
export const partRoutes = ({
  clock,
  store,
  publisher,
  sessions,
  runs,
  sessionLimitBytes: limitBytes,
  readBody,
}: Pick<
  RouteContext,
  'clock' | 'store' | 'publisher' | 'sessions' | 'runs' | 'sessionLimitBytes' | 'readBody'
>): RouteTable => {
  const partOf = async (sessionID: string, messageID: string, partID: string): Promise<Part> => {
    const message = await store.message(sessionID, messageID);
    if (message === undefined) throw notFound('message', messageID);
    const part = message.parts.find(({ id }) => id === partID);
    if (part === undefined) throw notFound('part', partID);
    return part;
  };
  return {
    '/session/:id/message/:messageID/part/:partID': {
      async PATCH(request, { id = '', messageID = '', partID = '' }) {
        const { directory } = await sessions.get(id);
        const given = await readBody(request, PartChangeBody);
        if (given.id !== partID) throw wrongPart('id', 'the id in the path');
        if (given.messageID !== messageID) throw wrongPart('messageID', 'the id in the path');
        if (given.sessionID !== id) throw wrongPart('sessionID', 'the id in the path');
        await requireIdle(runs, id);
        const part = await partOf(id, messageID, partID);
        if (part.type !== given.type) throw wrongPart('type', 'the type that the part has');
        await requireCapacity(store, { sessionID: id, limitBytes }, { parts: [given] });
        const written = part.type === 'text' && part.time !== undefined ? { time: part.time } : {};
        const changed: Part = { ...toStoredPart(given, given), ...written };
        await publisher.publish(directory, partPublication(changed, clock.now()));
        return jsonResponse(200, changed);
      },
      async DELETE(_request, { id = '', messageID = '', partID = '' }) {
        const { directory } = await sessions.get(id);
        await requireIdle(runs, id);
        const part = await partOf(id, messageID, partID);
        await endAwaitedCalls({ store, sessions, clock }, id, { why: CALL_NOT_AWAITED.reverted });
        await publisher.publish(directory, partsRemoval(id, [part]));
        return jsonResponse(200, true);
      },
    },
    '/session/:id/message/:messageID/part/:partID/output': {
      async GET(_request, { id = '', messageID = '', partID = '' }) {
        await sessions.get(id);
        const { id: known } = await partOf(id, messageID, partID);
        const output = await store.output(id, known);
        if (output === undefined) throw notFound('output of part', partID);
        return new Response(output, { headers: { 'content-type': 'text/plain; charset=utf-8' } });
      },
    },
  };
};
