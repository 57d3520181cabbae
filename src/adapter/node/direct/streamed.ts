import type { ServerResponse } from 'node:http';
import type { DirectBody } from '../../../core/http/streamed-response.ts';
import { onDisconnect } from './disconnect.ts';

/** Writes head and body to Node's response as they come. What is written after the client has disconnected is dropped. */
export const sendStreamed = (
  reply: ServerResponse,
  { status, statusText, headers }: Response,
  body: DirectBody,
): void => {
  if (reply.destroyed) {
    body.leave();
    return;
  }
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
  const fields = [...headers].flat();
  if (statusText === '') reply.writeHead(status, fields);
  else reply.writeHead(status, statusText, fields);
  reply.flushHeaders();
  body.sendTo({
    write(text) {
      if (reply.destroyed || reply.write(text)) return undefined;
      drained ??= Promise.withResolvers();
      return drained.promise;
    },
    isBehind: () => drained !== undefined,
    end: () => void reply.end(),
  });
};
