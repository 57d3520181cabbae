// The least that a stream of chunks costs: a bare server that writes the same bytes at the same pace. Environment: PORT.
import { createServer } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';

const opening =
  '{"id":"chatcmpl-0123456789abcdefghij","object":"chat.completion.chunk","created":1700000000,"model":"bench/main",' +
  '"service_tier":"default","system_fingerprint":"fp_0123456789"';
const chunkOf = (delta, finish) =>
  `data: ${opening},"choices":[{"index":0,"delta":${delta},"logprobs":null,"finish_reason":${finish}}]}\n\n`;

const server = createServer((request, response) => {
  const chunks = [];
  request.on('data', (bytes) => chunks.push(bytes));
  request.on('end', async () => {
    if (request.method === 'GET') return response.writeHead(200).end('{}');
    const [, pieces, chars, ms] = /(\d+) pieces of (\d+) every (\d+)/.exec(Buffer.concat(chunks).toString('utf8'));
    const piece = chunkOf(JSON.stringify({ content: `${'abcdefghij'.slice(0, Number(chars) - 1)} ` }), 'null');
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const startedAtMs = performance.now();
    for (let said = 0; said < Number(pieces); said++) {
      const dueMs = startedAtMs + said * Number(ms) - performance.now();
      if (dueMs > 0) await pause(dueMs);
      response.write(piece);
    }
    return response.end(`${chunkOf('{}', '"stop"')}data: [DONE]\n\n`);
  });
});
server.listen(Number(process.env.PORT), '127.0.0.1');
