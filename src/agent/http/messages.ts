import type { Clock } from '../../core/clock.ts';
import { Fault } from '../../core/fault.ts';
import { jsonResponse } from '../../core/http/response.ts';
import type { RouteTable } from '../../core/http/router.ts';
import type { RouteContext } from '../context.ts';
import { holdUntilDelivered } from '../events/readers.ts';
import { PromptBody, readBody } from '../protocol/request-schemas.ts';
import type { AssistantMessage } from '../protocol/types.ts';
import type { AcceptedPrompt } from '../session/prompt.ts';
import type { MessageQuery, MessageWithParts, Store } from '../store/store.ts';
import { toMessageError } from '../turn/errors.ts';
import { parseQuery, wholeNumberParameter } from './query.ts';

const HEADERS = { 'content-type': 'application/json' };

/**
 * A JSON answer whose text comes in pieces. One piece is sent whole; of more each is asked for when the client has taken the
 * one before it. Rejects when the first two cannot be had; a failure after that breaks the answer off.
 */
export const jsonChunksResponse = async (
  pieces: AsyncGenerator<string>,
  onBug: (error: unknown) => void,
): Promise<Response> => {
  const first = await pieces.next();
  let next = await pieces.next();
  const text = first.done === true ? '' : first.value;
  if (next.done === true) return new Response(text, { headers: HEADERS });
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(encoder.encode(text)),
    async pull(controller) {
      if (next.done === true) return controller.close();
      controller.enqueue(encoder.encode(next.value));
      try {
        next = await pieces.next();
      } catch (error) {
        onBug(error);
        controller.error(error);
      }
    },
    cancel: async () => void (await pieces.return(undefined)),
  });
  return new Response(body, { headers: HEADERS });
};

/** Large enough that few are needed, and small enough that nothing waits for one. */
const CHUNK_CHARS = 256 * 1024;

/**
 * The JSON text of a session's messages, in pieces that are made as they are asked for: a whole session need not fit into
 * memory at once. Each message is as it was when its piece was made; one that is gone by then is left out.
 */
export async function* messageListChunks(
  store: Pick<Store, 'messageOutlines' | 'message'>,
  sessionID: string,
  asked: MessageQuery,
): AsyncGenerator<string> {
  let piece = '[';
  let between = '';
  for (const { id } of await store.messageOutlines(sessionID, asked)) {
    const told = await store.message(sessionID, id);
    if (told === undefined) continue;
    piece += between + JSON.stringify(told);
    between = ',';
    if (piece.length < CHUNK_CHARS) continue;
    yield piece;
    piece = '';
  }
  yield `${piece}]`;
}

const KEEP_ALIVE_MS = 10_000;

/**
 * A JSON answer whose headers go out at once and whose text comes when it is there; white space, which JSON allows, keeps the
 * connection awake meanwhile. A client that leaves ends nothing but its own waiting. `failed` gives the text of a failure.
 */
export const jsonResponseWhenReady = (
  clock: Clock,
  answer: Promise<unknown>,
  failed: (error: unknown) => unknown,
): Response => {
  const encoder = new TextEncoder();
  let cancelBreath = (): void => {};
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      // Servers send headers with the first byte of a body.
      controller.enqueue(encoder.encode(' '));
      const breathe = (): void => {
        cancelBreath = clock.after(KEEP_ALIVE_MS, () => {
          controller.enqueue(encoder.encode(' '));
          breathe();
        });
      };
      breathe();
      const finish = (value: unknown): void => {
        cancelBreath();
        try {
          controller.enqueue(encoder.encode(JSON.stringify(value)));
          controller.close();
        } catch {
          // Nobody listens any more.
        }
      };
      answer.then(finish, (error: unknown) => finish(failed(error)));
    },
    cancel: () => cancelBreath(),
  });
  return new Response(body, { headers: { 'content-type': 'application/json', 'cache-control': 'no-store' } });
};

/** Messages: listed, and prompted. */
export const messageRoutes = (needs: RouteContext): RouteTable => {
  const { clock, store, sessions, runs, acceptPrompt, onBug } = needs;

  const toldOf = async ({ session }: AcceptedPrompt, answer: Promise<AssistantMessage>): Promise<MessageWithParts> => {
    const message = await answer;
    const told = await store.message(session.id, message.id);
    return told ?? { info: message, parts: [] };
  };
  /** Takes a prompt in, and begins to answer it unless it wants none. */
  const begun = (id: string, request: Request) =>
    runs.whileAccepting(async () => {
      const prompt = await readBody(request, PromptBody);
      const accepted = await acceptPrompt(id, prompt);
      const answer = prompt.noReply === true ? undefined : runs.run(accepted.session, accepted.user);
      return { accepted, answer };
    });
  const isStopped = ({ info }: MessageWithParts): boolean =>
    info.role === 'assistant' && info.error?.name === 'MessageAbortedError';
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
        const asked = {
          ...(limit === undefined ? {} : { limit }),
          ...(beforeID === undefined ? {} : { beforeID }),
        };
        return jsonChunksResponse(messageListChunks(store, id, asked), onBug);
      },
      async POST(request, { id = '' }) {
        const { accepted, answer } = await begun(id, request);
        if (answer === undefined) return jsonResponse(200, accepted.message);
        // Whoever has stopped it does not wait for what was told before.
        const told = holdUntilDelivered(needs, toldOf(accepted, answer), (one) => !isStopped(one));
        return jsonResponseWhenReady(clock, told, (error) => {
          onBug(error);
          return toMessageError(error, '');
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
