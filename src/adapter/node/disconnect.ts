import type { ServerResponse } from 'node:http';

/**
 * Calls `leave` once the client has disconnected, and again when the response is closed, which it is also after its end. A client
 * that ends its side of the connection has disconnected: Node sends what was written by then and nothing more, but closes the
 * response only when the client has read that. Bun reports only that the connection is closed.
 */
export const onDisconnect = (reply: ServerResponse, leave: () => void): void => {
  if (reply.destroyed) {
    leave();
    return;
  }
  const { socket } = reply;
  socket?.once('end', leave);
  reply.once('close', () => {
    // A kept-alive connection outlives the response.
    socket?.off('end', leave);
    leave();
  });
};
