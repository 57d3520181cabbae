import type { ServerResponse } from 'node:http';
import { directBodyOf } from '../../core/http/streamed-response.ts';
import { onDisconnect } from './disconnect.ts';

/**
 * Sends a streamed response as its text comes. Settles when Node has all of it, or its response is closed; what is written after the
 * client has disconnected is dropped. Any other response is left to `@whatwg-node/server`, which sends nothing once Node's response has
 * ended or is closed.
 */
export const sendStreamed = (reply: ServerResponse, response: Response): Promise<void> | undefined => {
  const body = directBodyOf(response);
  if (reply.destroyed) body?.leave();
  if (reply.destroyed || body === undefined) return undefined;
  return new Promise((resolve) => {
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
    });
    // Not when the client ends its side: until it has read what was written the response is open, and the library would begin another.
    reply.once('close', resolve);
    const { status, statusText, headers } = response;
    reply.writeHead(status, statusText, [...headers].flat());
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
};
