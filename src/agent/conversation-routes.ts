import { Fault } from '../core/fault.ts';
import { json } from '../core/http/json-response.ts';
import type { RouteTable } from '../core/http/router.ts';
import { afterEvents } from './after-events.ts';
import type { RouteNeeds } from './context.ts';
import { patientJson } from './message-reply.ts';
import { ForkIn, RevertIn, readBody, SummarizeIn } from './protocol/request-schemas.ts';
import { forkSession } from './session/fork.ts';
import { refuseBusy, removedFact, revertSession, unrevertSession } from './session/revert.ts';
import { requestSummary } from './summary-request.ts';
import { messageErrorOf } from './turn/errors.ts';

/** What was said in a session: copied, turned back, summed up, and forgotten. */
export const conversationRoutes = (needs: RouteNeeds): RouteTable => {
  const { clock, store, sessions, publisher, runs, onBug } = needs;
  const isClosing = (id: string): boolean => runs.isClosing(id);
  /** Whether a summary stands in the place of everything now. */
  const summed = async (request: Awaited<ReturnType<typeof requestSummary>>): Promise<boolean> => {
    if (request === undefined) return true;
    const { summary } = await runs.run(request.session, request.user);
    return summary === true;
  };
  return {
    '/session/:id/fork': {
      async POST(request, { id = '' }) {
        const { messageID } = await readBody(request, ForkIn, true);
        return json(200, await forkSession(needs, id, messageID));
      },
    },
    '/session/:id/revert': {
      async POST(request, { id = '' }) {
        const { messageID, partID } = await readBody(request, RevertIn);
        const asked = { messageID, ...(partID === undefined ? {} : { partID }) };
        return json(200, await revertSession(needs, id, asked));
      },
    },
    '/session/:id/unrevert': { POST: async (_request, { id = '' }) => json(200, await unrevertSession(needs, id)) },
    '/session/:id/summarize': {
      async POST(request, { id = '' }) {
        const { providerID, modelID } = await readBody(request, SummarizeIn);
        const asked = await requestSummary({ ...needs, isClosing }, id, { providerID, modelID });
        return patientJson(clock, afterEvents(needs, summed(asked)), (error) => {
          onBug(error);
          return messageErrorOf(error, providerID);
        });
      },
    },
    '/session/:id/message/:messageID': {
      async GET(_request, { id = '', messageID = '' }) {
        await sessions.get(id);
        const told = await store.message(id, messageID);
        if (told === undefined) throw new Fault({ kind: 'not-found', hint: 'Message not found' });
        return json(200, told);
      },
      async DELETE(_request, { id = '', messageID = '' }) {
        const { directory } = await sessions.get(id);
        await refuseBusy(runs, id);
        if ((await store.message(id, messageID)) === undefined)
          throw new Fault({ kind: 'not-found', hint: 'Message not found' });
        await publisher.publish(directory, removedFact(id, [messageID]));
        return json(200, true);
      },
    },
  };
};
