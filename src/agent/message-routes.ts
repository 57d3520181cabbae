import { Fault } from '../core/fault.ts';
import { json } from '../core/json.ts';
import type { RouteTable } from '../core/route.ts';
import { afterEvents } from './after-events.ts';
import type { RouteNeeds } from './agent-needs.ts';
import { queryOf, wholeNumber } from './asked.ts';
import { jsonInPieces } from './json-in-pieces.ts';
import { messageErrorOf } from './message-error.ts';
import { messageList } from './message-list.ts';
import { patientJson } from './message-reply.ts';
import type { Accepted } from './prompts.ts';
import { PromptIn, readBody } from './wire-in.ts';

/** Messages: listed, and prompted. */
export const messageRoutes = (needs: RouteNeeds): RouteTable => {
  const { clock, store, sessions, runs, accept, onBug } = needs;

  const answerTo = async ({ session, user }: Accepted): Promise<unknown> => {
    const message = await runs.run(session, user);
    const told = await store.message(session.id, message.id);
    return told ?? { info: message, parts: [] };
  };
  return {
    '/session/:id/message': {
      async GET(request, { id = '' }) {
        await sessions.get(id);
        const query = queryOf(request);
        const limit = wholeNumber(query, 'limit', 10_000);
        const beforeID = query.get('before') ?? undefined;
        if (beforeID !== undefined && (await store.message(id, beforeID)) === undefined) {
          const message = 'before: expected the id of a message of this session';
          throw new Fault({ kind: 'bad-input', code: 'invalid_query', param: 'before', message });
        }
        const asked = {
          ...(limit === undefined ? {} : { limit }),
          ...(beforeID === undefined ? {} : { beforeID }),
        };
        return jsonInPieces(messageList(store, id, asked), onBug);
      },
      async POST(request, { id = '' }) {
        const prompt = await readBody(request, PromptIn);
        const accepted = await accept(id, prompt);
        if (prompt.noReply === true) return json(200, accepted.told);
        return patientJson(clock, afterEvents(needs, answerTo(accepted)), (error) => {
          onBug(error);
          return messageErrorOf(error, '');
        });
      },
    },
    '/session/:id/prompt_async': {
      async POST(request, { id = '' }) {
        const prompt = await readBody(request, PromptIn);
        const accepted = await accept(id, prompt);
        if (prompt.noReply !== true) void runs.run(accepted.session, accepted.user).catch(onBug);
        return new Response(null, { status: 204 });
      },
    },
  };
};
