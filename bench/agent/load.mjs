// Chats with agent servers, told by GET requests and answered in JSON; a process of its own, whose processor time is the load's.
//   /sessions?ports=1,2&count=40        opens sessions, in turn on each of the ports
//   /run?chats=24&messages=20           has each session sent its messages, one chat after the other in so many lanes
// Environment: PORT.
import { createServer } from 'node:http';
import { openSession, sendMessage } from './client.mjs';

let sessions = [];

const openSessions = async (ports, count) => {
  const opened = Array.from({ length: count }, async (_, index) => {
    const port = ports[index % ports.length];
    return { port, id: (await openSession(port)).id };
  });
  sessions = await Promise.all(opened);
  return { opened: count };
};

const sendMessages = async (chats, messages) => {
  const waiting = sessions.values();
  const tookMs = [];
  const lane = async () => {
    for (const { port, id } of waiting) {
      for (let message = 0; message < messages; message++) tookMs.push(await sendMessage(port, id));
    }
  };
  const startedAtMs = performance.now();
  await Promise.all(Array.from({ length: chats }, lane));
  return { lastedMs: performance.now() - startedAtMs, tookMs };
};

const answer = ({ pathname, searchParams }) => {
  const number = (name) => Number(searchParams.get(name));
  if (pathname === '/sessions') return openSessions(searchParams.get('ports').split(',').map(Number), number('count'));
  if (pathname === '/run') return sendMessages(number('chats'), number('messages'));
  return { isReady: true };
};

createServer(async (asked, response) => {
  try {
    const told = await answer(new URL(asked.url, 'http://localhost'));
    response.writeHead(200).end(JSON.stringify(told));
  } catch (error) {
    response.writeHead(500).end(error.message);
  }
}).listen(Number(process.env.PORT), '127.0.0.1');
