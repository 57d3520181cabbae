import { Agent, request } from 'node:http';

const EXPECTED = 'The bench model says the same to everyone.';
const QUESTION = JSON.stringify({ parts: [{ type: 'text', text: 'What do you say?' }] });
const connections = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });

/** Posts JSON to a port of this machine over a kept connection; rejects unless the answer is a 200. */
export const post = (port, path, body) =>
  new Promise((resolve, reject) => {
    const startedAtMs = performance.now();
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    const options = { host: '127.0.0.1', port, path, method: 'POST', agent: connections, headers };
    const asked = request(options, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (piece) => {
        text += piece;
      });
      response.on('error', reject);
      response.on('end', () =>
        response.statusCode === 200
          ? resolve({ text, tookMs: performance.now() - startedAtMs })
          : reject(new Error(`${path} answered ${response.statusCode}: ${text.slice(0, 200)}`)),
      );
    });
    asked.on('error', reject).end(body);
  });

/** A new session, and how long it took to open. */
export const openSession = async (port) => {
  const { text, tookMs } = await post(port, '/session', '{"title":"bench"}');
  return { id: JSON.parse(text).id, tookMs };
};

/** Asks the question that fake-chat.mjs answers, and tells how long that took. */
export const sendMessage = async (port, id) => {
  const { text, tookMs } = await post(port, `/session/${id}/message`, QUESTION);
  if (!text.includes(EXPECTED)) throw new Error(`unexpected answer: ${text.slice(0, 300)}`);
  return tookMs;
};
