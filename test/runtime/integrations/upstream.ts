import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';

/** A provider of chat models that says what it is told to. */
export type Upstream = {
  readonly address: string;
  /** How many chats have reached it. */
  readonly chats: () => number;
  readonly say: (text: string) => void;
  /** Streams a call of a tool with these arguments from now on, beside an empty text. */
  readonly call: (given: string) => void;
  readonly stop: () => Promise<void>;
};

const PIECE_CHARS = 8;

/** Starts a provider of OpenAI's chat completions on loopback, whole or as a stream of pieces. */
export const startUpstream = async (): Promise<Upstream> => {
  let text = 'Good day.';
  let given: string | undefined;
  let count = 0;
  const server = createServer((request, reply) => {
    // A proxy may look whether it is there.
    if (request.method !== 'POST') return void reply.writeHead(404).end();
    void json(request).then((body) => {
      const { stream = false, model } = body as { stream?: boolean; model: string };
      count += 1;
      const envelope = { id: 'chatcmpl-1', created: 1, model };
      if (!stream) {
        const choices = [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }];
        const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
        reply.writeHead(200, { 'content-type': 'application/json' });
        reply.end(JSON.stringify({ ...envelope, object: 'chat.completion', choices, usage }));
        return;
      }
      reply.writeHead(200, { 'content-type': 'text/event-stream' });
      const pieces = text.match(new RegExp(`[^]{1,${PIECE_CHARS}}`, 'g')) ?? [];
      const chunk = (delta: object, finish_reason: string | null) =>
        `data: ${JSON.stringify({ ...envelope, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
      if (given !== undefined) {
        const begun = { index: 0, id: 'call_1', type: 'function', function: { name: 'run', arguments: '' } };
        reply.write(chunk({ role: 'assistant', content: '' }, null));
        reply.write(chunk({ tool_calls: [begun] }, null));
        for (const piece of given)
          reply.write(chunk({ tool_calls: [{ index: 0, function: { arguments: piece } }] }, null));
      } else for (const content of pieces) reply.write(chunk({ role: 'assistant', content }, null));
      reply.end(`${chunk({}, 'stop')}data: [DONE]\n\n`);
    });
  });
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    chats: () => count,
    say(said) {
      text = said;
      given = undefined;
    },
    call(asked) {
      given = asked;
    },
    stop: () => new Promise((resolve) => server.close(() => resolve())),
  };
};
