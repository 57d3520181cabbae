import { Fault } from '../../core/fault.ts';
import { json } from '../../core/http/json-response.ts';
import type { RouteTable } from '../../core/http/router.ts';
import { afterEvents } from '../after-events.ts';
import type { RouteNeeds } from '../context.ts';
import { jsonInPieces } from '../json-in-pieces.ts';
import type { AssistantMessage } from '../message.ts';
import { messageList } from '../message-list.ts';
import { patientJson } from '../message-reply.ts';
import { PromptIn, readBody } from '../protocol/request-schemas.ts';
import type { Accepted } from '../session/prompt.ts';
import type { Told } from '../store/store.ts';
import { messageErrorOf } from '../turn/errors.ts';
import { queryOf, wholeNumber } from './query.ts';

/** Messages: listed, and prompted. */
export const messageRoutes = (needs: RouteNeeds): RouteTable => {
  const { clock, store, sessions, runs, accept, onBug } = needs;

  const toldOf = async ({ session }: Accepted, answer: Promise<AssistantMessage>): Promise<Told> => {
    const message = await answer;
    const told = await store.message(session.id, message.id);
    return told ?? { info: message, parts: [] };
  };
  /** Takes a prompt in, and begins to answer it unless it wants none. */
  const begun = (id: string, request: Request) =>
    runs.takingIn(async () => {
      const prompt = await readBody(request, PromptIn);
      const accepted = await accept(id, prompt);
      const answer = prompt.noReply === true ? undefined : runs.run(accepted.session, accepted.user);
      return { accepted, answer };
    });
  const isStopped = ({ info }: Told): boolean =>
    info.role === 'assistant' && info.error?.name === 'MessageAbortedError';
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
        const { accepted, answer } = await begun(id, request);
        if (answer === undefined) return json(200, accepted.told);
        // Whoever has stopped it does not wait for what was told before.
        const told = afterEvents(needs, toldOf(accepted, answer), (one) => !isStopped(one));
        return patientJson(clock, told, (error) => {
          onBug(error);
          return messageErrorOf(error, '');
        });
      },
    },
    '/session/:id/prompt_async': {
      async POST(request, { id = '' }) {
        const { answer } = await begun(id, request);
        answer?.catch(onBug);
        return new Response(null, { status: 204 });
      },
    },
  };
};
