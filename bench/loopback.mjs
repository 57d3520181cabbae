// Loaded before a peer that can only listen on every address: keeps its servers on 127.0.0.1.
import { Server } from 'node:net';

const { listen } = Server.prototype;

Server.prototype.listen = function listenOnLoopback(port, ...rest) {
  const onListening = rest.find((argument) => typeof argument === 'function');
  return listen.call(this, Number(port), '127.0.0.1', onListening);
};
