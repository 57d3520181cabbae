// Chats with agent servers, told by GET requests and answered in JSON; a process of its own, whose processor time is the load's.
//   /sessions?ports=1,2&count=40        opens sessions, in turn on each of the ports
//   /run?chats=24&messages=20           has each session sent its messages, one chat after the other in so many lanes
// Environment: PORT.
import { Agent, createServer, request } from 'node:http';

const EXPECTED = 'The bench model says the same to everyone.';
const QUESTION = JSON.stringify({ parts: [{ type: 'text', text: 'What do you say?' }] });
const connections = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
const headers = { 'content-type': 'application/json' };

const post = (port, path, body) =>
  new Promise((resolve, reject) => {
    const asked = request(
      { host: '127.0.0.1', port, path, method: 'POST', agent: connections, headers },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (piece) => {
          text += piece;
        });
        response.on('error', reject);
        response.on('end', () =>
          response.statusCode === 200
            ? resolve(text)
            : reject(new Error(`${path} answered ${response.statusCode}: ${text.slice(0, 200)}`)),
        );
      },
    );
    asked.on('error', reject).end(body);
  });

let sessions = [];

const openSessions = async (ports, count) => {
  const opened = Array.from({ length: count }, async (_, index) => {
    const port = ports[index % ports.length];
    return { port, id: JSON.parse(await post(port, '/session', '{"title":"bench"}')).id };
  });
  sessions = await Promise.all(opened);
  return { opened: count };
};

const sendMessages = async (chats, messages) => {
  const waiting = sessions.values();
  const tookMs = [];
  const lane = async () => {
    for (const { port, id } of waiting) {
      for (let message = 0; message < messages; message++) {
        const startedAtMs = performance.now();
        const text = await post(port, `/session/${id}/message`, QUESTION);
        if (!text.includes(EXPECTED)) throw new Error(`unexpected answer: ${text.slice(0, 300)}`);
        tookMs.push(performance.now() - startedAtMs);
      }
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
