import type { Clock } from '../../core/clock.ts';
import { Fault } from '../../core/fault.ts';
import { jsonResponse } from '../../core/http/response.ts';
import type { RouteTable } from '../../core/http/router.ts';
import { toCommandPrompt } from '../agents/command.ts';
import { holdUntilDelivered } from '../events/readers.ts';
import { CommandBody, PromptBody } from '../protocol/request-schemas.ts';
import type { AssistantMessage } from '../protocol/types.ts';
import type { AcceptedPrompt } from '../session/prompt.ts';
import type { MessageQuery, MessageWithParts, Store } from '../store/store.ts';
import type { RouteContext } from './context.ts';
import { toFailureBody } from './errors.ts';
import { parseQuery, wholeNumberParameter } from './query.ts';

const HEADERS = { 'content-type': 'application/json' };

/**
 * A JSON response from a text in chunks. A single chunk is sent whole; of several, each is requested when the client has read
 * the one before. Rejects when one of the first two fails; a later failure breaks the response off.
 */
export const jsonChunksResponse = async (
  chunks: AsyncGenerator<string>,
  onBug: (error: unknown) => void,
): Promise<Response> => {
  const first = await chunks.next();
  let next = await chunks.next();
  const text = first.done === true ? '' : first.value;
  if (next.done === true) return new Response(text, { headers: HEADERS });
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(encoder.encode(text)),
    async pull(controller) {
      if (next.done === true) return controller.close();
      controller.enqueue(encoder.encode(next.value));
      try {
        next = await chunks.next();
      } catch (error) {
        onBug(error);
        controller.error(error);
      }
    },
    cancel: async () => void (await chunks.return(undefined)),
  });
  return new Response(body, { headers: HEADERS });
};

/** Large enough for few chunks, small enough that other requests do not wait for one. */
const CHUNK_CHARS = 256 * 1024;

/**
 * The JSON text of a session's messages in chunks, each created when it is requested: a session need not fit into memory as
 * text. Each message is as it was when its chunk was created; one that was removed by then is left out.
 */
async function* messageListChunks(
  store: Pick<Store, 'messageOutlines' | 'message'>,
  sessionID: string,
  query: MessageQuery,
): AsyncGenerator<string> {
  let chunk = '[';
  let separator = '';
  for (const { id } of await store.messageOutlines(sessionID, query)) {
    const message = await store.message(sessionID, id);
    if (message === undefined) continue;
    chunk += separator + JSON.stringify(message);
    separator = ',';
    if (chunk.length < CHUNK_CHARS) continue;
    yield chunk;
    chunk = '';
  }
  yield `${chunk}]`;
}

const KEEP_ALIVE_MS = 10_000;

/**
 * A JSON response whose headers are sent at once, and whose text when `answer` settles. White space, which JSON allows, keeps
 * the connection alive meanwhile. A client that disconnects does not stop the work. `toError` creates the body of a failure.
 */
export const jsonResponseWhenReady = (
  clock: Clock,
  answer: Promise<unknown>,
  toError: (error: unknown) => unknown,
): Response => {
  const encoder = new TextEncoder();
  let cancelKeepAlive = (): void => {};
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      // Servers send headers with the first byte of a body.
      controller.enqueue(encoder.encode(' '));
      const scheduleKeepAlive = (): void => {
        cancelKeepAlive = clock.after(KEEP_ALIVE_MS, () => {
          controller.enqueue(encoder.encode(' '));
          scheduleKeepAlive();
        });
      };
      scheduleKeepAlive();
      const finish = (value: unknown): void => {
        cancelKeepAlive();
        try {
          controller.enqueue(encoder.encode(JSON.stringify(value)));
          controller.close();
        } catch {
          // The client has disconnected.
        }
      };
      answer.then(finish, (error: unknown) => finish(toError(error)));
    },
    cancel: () => cancelKeepAlive(),
  });
  return new Response(body, { headers: { 'content-type': 'application/json', 'cache-control': 'no-store' } });
};

/** Lists messages and takes prompts. A prompt goes on to `session/prompt.ts` and `session/run-queue.ts`. */
export const messageRoutes = (context: RouteContext): RouteTable => {
  const { clock, store, sessions, catalog, runs, spanOf, readBody, acceptPrompt, onBug } = context;
  const readAnswer = async (
    { session }: AcceptedPrompt,
    answer: Promise<AssistantMessage>,
  ): Promise<MessageWithParts> => {
    const message = await answer;
    return (await store.message(session.id, message.id)) ?? { info: message, parts: [] };
  };
  /** Accepts a prompt, and begins to answer it unless it wants no answer. */
  const beginPrompt = (id: string, request: Request, readPrompt = () => readBody(request, PromptBody)) =>
    runs.whileAccepting(async () => {
      const prompt = await readPrompt();
      const isOwed = prompt.noReply !== true;
      const accepted = await acceptPrompt(id, prompt, { isOwed });
      const known = { asksForAnswer: true, span: spanOf(request) };
      const answer = isOwed ? runs.run(accepted.session, accepted.user, known) : undefined;
      return { accepted, answer };
    });
  const isAborted = ({ error }: AssistantMessage): boolean => error?.name === 'MessageAbortedError';
  /** The answer to a prompt once it is there; the prompt itself if it wants none. */
  const respond = ({ accepted, answer }: Awaited<ReturnType<typeof beginPrompt>>): Response => {
    if (answer === undefined) return jsonResponse(200, accepted.message);
    // A client that aborts a prompt does not wait for earlier events.
    // Held before it is read: by then the last events may have left this server, and not yet arrived.
    const held = holdUntilDelivered(context, answer, (message) => !isAborted(message));
    return jsonResponseWhenReady(clock, readAnswer(accepted, held), (error) => {
      onBug(error);
      return toFailureBody(error, '');
    });
  };
  return {
    '/session/:id/message': {
      async GET(request, { id = '' }) {
        await sessions.get(id);
        const query = parseQuery(request);
        const limit = wholeNumberParameter(query, 'limit', 10_000);
        const beforeID = query.get('before') ?? undefined;
        if (beforeID !== undefined && (await store.message(id, beforeID)) === undefined) {
          const message = 'before: expected the id of a message of this session';
          throw new Fault({ kind: 'bad-input', code: 'invalid_query', param: 'before', message });
        }
        const page = {
          ...(limit === undefined ? {} : { limit }),
          ...(beforeID === undefined ? {} : { beforeID }),
        };
        return jsonChunksResponse(messageListChunks(store, id, page), onBug);
      },
      POST: async (request, { id = '' }) => respond(await beginPrompt(id, request)),
    },
    '/session/:id/command': {
      POST: async (request, { id = '' }) =>
        respond(
          await beginPrompt(id, request, async () => toCommandPrompt(catalog, await readBody(request, CommandBody))),
        ),
    },
    '/session/:id/prompt_async': {
      async POST(request, { id = '' }) {
        const { answer } = await beginPrompt(id, request);
        answer?.catch(onBug);
        return new Response(null, { status: 204 });
      },
    },
  };
};
