// An OpenAI-style chat model that costs next to nothing: every question gets the same answer, streamed or whole.
// Environment: PORT.
import { createServer } from 'node:http';

const WORDS = ['The ', 'bench ', 'model ', 'says ', 'the ', 'same ', 'to ', 'everyone.'];
const base = { id: 'chatcmpl-bench', created: 1_700_000_000, model: 'bench' };
const usage = { prompt_tokens: 100, completion_tokens: 8, total_tokens: 108 };

const chunk = (more) => `data: ${JSON.stringify({ ...base, object: 'chat.completion.chunk', ...more })}\n\n`;
const delta = (said, finish = null) => chunk({ choices: [{ index: 0, delta: said, finish_reason: finish }] });
const streamed = [
  delta({ role: 'assistant', content: '' }),
  ...WORDS.map((content) => delta({ content })),
  delta({}, 'stop'),
  chunk({ choices: [], usage }),
  'data: [DONE]\n\n',
].join('');
const message = { role: 'assistant', content: WORDS.join('') };
const whole = JSON.stringify({
  ...base,
  object: 'chat.completion',
  choices: [{ index: 0, message, finish_reason: 'stop' }],
  usage,
});

let calls = 0;

const server = createServer((request, response) => {
  const { method, url } = request;
  const chunks = [];
  request.on('data', (bytes) => chunks.push(bytes));
  request.on('end', () => {
    if (method === 'GET') {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ calls }));
    } else if (method === 'POST' && url === '/v1/chat/completions') {
      calls += 1;
      const isStreamed = Buffer.concat(chunks).includes('"stream":true');
      response.writeHead(200, { 'content-type': isStreamed ? 'text/event-stream' : 'application/json' });
      response.end(isStreamed ? streamed : whole);
    } else response.writeHead(404).end();
  });
});
server.keepAliveTimeout = 120_000;
server.listen(Number(process.env.PORT), '127.0.0.1');
