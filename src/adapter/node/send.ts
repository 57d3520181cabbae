import type { ServerResponse } from 'node:http';
import { textOf } from '../../core/http/response.ts';
import { type DirectBody, directBodyOf } from '../../core/http/streamed-response.ts';
import { onDisconnect } from './disconnect.ts';

const writeHead = (reply: ServerResponse, { status, statusText }: Response, fields: readonly string[]): void => {
  if (statusText === '') reply.writeHead(status, [...fields]);
  else reply.writeHead(status, statusText, [...fields]);
};

/** Writes head and text in one piece. */
const sendText = (reply: ServerResponse, response: Response, text: string): void => {
  const length = ['content-length', String(Buffer.byteLength(text))];
  writeHead(reply, response, [...[...response.headers].flat(), ...length]);
  reply.end(text);
};

/** Writes head and body as they come, until the end or until the client has disconnected. What is written later is dropped. */
const sendStreamed = (reply: ServerResponse, response: Response, body: DirectBody): Promise<void> =>
  new Promise((resolve) => {
    let drained: PromiseWithResolvers<void> | undefined;
    const endWait = (): void => {
      drained?.resolve();
      drained = undefined;
    };
    reply.on('drain', endWait);
    // Node reports a write that comes later than the end of the connection.
    reply.on('error', () => {});
    onDisconnect(reply, () => {
      endWait();
      body.leave();
      resolve();
    });
    writeHead(reply, response, [...response.headers].flat());
    reply.flushHeaders();
    body.sendTo({
      write(text) {
        if (reply.destroyed || reply.write(text)) return undefined;
        drained ??= Promise.withResolvers();
        return drained.promise;
      },
      isBehind: () => drained !== undefined,
      end() {
        reply.end();
        resolve();
      },
    });
  });

/**
 * Sends a response whose text is known, or comes as text, and settles once Node has all of it. Any other response is left to
 * `@whatwg-node/server`, which reads its body: that takes twice as long as all else that a short answer costs.
 */
export const sendKnownText = async (reply: ServerResponse, response: Response): Promise<void> => {
  const streamed = directBodyOf(response);
  const text = textOf(response);
  if (reply.destroyed) streamed?.leave();
  else if (streamed !== undefined) await sendStreamed(reply, response, streamed);
  else if (text !== undefined) sendText(reply, response, text);
};
