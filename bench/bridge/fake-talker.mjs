// A chat model that talks as it is told by the last words of the conversation: "<pieces> pieces of <chars> every <ms>".
// Environment: PORT.
import { createServer } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';

const base = { id: 'chatcmpl-bench', created: 1_700_000_000, model: 'bench' };
const chunk = (more) => `data: ${JSON.stringify({ ...base, object: 'chat.completion.chunk', ...more })}\n\n`;
const delta = (said, finish = null) => chunk({ choices: [{ index: 0, delta: said, finish_reason: finish }] });
const usage = (count) => ({ prompt_tokens: 100, completion_tokens: count, total_tokens: 100 + count });

/** The last order in a text, so that a longer history changes nothing. */
const orderIn = (text) => {
  const [, pieces = '8', chars = '6', ms = '0'] = [...text.matchAll(/(\d+) pieces of (\d+) every (\d+)/g)].at(-1) ?? [];
  return { pieces: Number(pieces), chars: Number(chars), everyMs: Number(ms) };
};

const talk = async (response, { pieces, chars, everyMs }) => {
  const piece = `${'abcdefghij'.repeat(Math.ceil(chars / 10)).slice(0, chars - 1)} `;
  response.write(delta({ role: 'assistant', content: '' }));
  for (let count = 0; count < pieces; count++) {
    if (everyMs > 0 && count > 0) await pause(everyMs);
    response.write(delta({ content: piece }));
  }
  response.end(`${delta({}, 'stop')}${chunk({ choices: [], usage: usage(pieces) })}data: [DONE]\n\n`);
};

const server = createServer((request, response) => {
  const chunks = [];
  request.on('data', (bytes) => chunks.push(bytes));
  request.on('end', () => {
    if (request.method === 'GET') return response.writeHead(200).end('{}');
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    return talk(response, orderIn(Buffer.concat(chunks).toString('utf8')));
  });
});
server.keepAliveTimeout = 120_000;
server.listen(Number(process.env.PORT), '127.0.0.1');
