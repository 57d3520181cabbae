import { Fault } from '../../core/fault.ts';
import { jsonResponse } from '../../core/http/response.ts';
import type { RouteTable } from '../../core/http/router.ts';
import { joinPublications } from '../events/publisher.ts';
import { partPublication } from '../events/records.ts';
import { PartChangeBody } from '../protocol/part-schemas.ts';
import type { Part, Session } from '../protocol/types.ts';
import { toStoredPart } from '../session/prompt.ts';
import { partsRemoval, removeWhileIdle, updateWhileIdle } from '../session/revert.ts';
import { notFound, requireCapacity } from '../session/sessions.ts';
import type { RouteContext } from './context.ts';

const wrongPart = (param: string, expected: string): Fault =>
  new Fault({ kind: 'bad-input', code: 'invalid_body', param, message: `${param}: expected ${expected}` });

/** Changes and removes single parts of messages, and reads the whole output of a call. */
export const partRoutes = (context: RouteContext): RouteTable => {
  const { clock, store, sessions, sessionLimitBytes: limitBytes, readBody } = context;
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
        await sessions.get(id);
        const given = await readBody(request, PartChangeBody);
        if (given.id !== partID) throw wrongPart('id', 'the id in the path');
        if (given.messageID !== messageID) throw wrongPart('messageID', 'the id in the path');
        if (given.sessionID !== id) throw wrongPart('sessionID', 'the id in the path');
        let changed: Part | undefined;
        const change = async (session: Session): Promise<Session> => {
          const part = await partOf(id, messageID, partID);
          if (part.type !== given.type) throw wrongPart('type', 'the type that the part has');
          await requireCapacity(store, { sessionID: id, limitBytes, replaced: [part] }, { parts: [given] });
          const written = part.type === 'text' && part.time !== undefined ? { time: part.time } : {};
          changed = { ...toStoredPart(given, given), ...written };
          return session;
        };
        await updateWhileIdle(context, id, change, (session) =>
          changed === undefined ? session : joinPublications(session, partPublication(changed, clock.now())),
        );
        return jsonResponse(200, changed);
      },
      async DELETE(_request, { id = '', messageID = '', partID = '' }) {
        const removal = async () => partsRemoval(id, [await partOf(id, messageID, partID)]);
        await removeWhileIdle(context, id, { messageID, partID }, removal);
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
