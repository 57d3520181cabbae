// The least that a Node gateway can do: one POST in, one POST out over undici's pool, the answer passed back.
// Environment: PORT, BACKEND_BASE_URL.
import { createServer } from 'node:http';
import { Pool } from 'undici';

const pool = new Pool(process.env.BACKEND_BASE_URL, { connections: 64 });

const passOn = async (path, body, response) => {
  const answer = await pool.request({ path, method: 'POST', headers: { 'content-type': 'application/json' }, body });
  const bytes = Buffer.from(await answer.body.arrayBuffer());
  const headers = { 'content-type': answer.headers['content-type'], 'content-length': bytes.length };
  response.writeHead(answer.statusCode, headers).end(bytes);
};

createServer((request, response) => {
  if (request.method === 'GET') return response.end('ok');
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    const body = chunks.length === 1 ? chunks[0] : Buffer.concat(chunks);
    passOn(request.url, body, response).catch(() => response.writeHead(502).end());
  });
}).listen(Number(process.env.PORT), '127.0.0.1');
