// An OpenAI-style backend that costs next to nothing: it finds the nonce by a search in the raw bytes and answers with a
// ready-made verdict. It also takes spans. Environment: PORT, DELAY_MS (0: at once), PROMPT_TOKENS (1100: what it says of each prompt).
import { createServer } from 'node:http';

const MARKER = '[[text ';
const NONCE_CHARS = 12;
const delayMs = Number(process.env.DELAY_MS ?? 0);
const promptTokens = Number(process.env.PROMPT_TOKENS ?? 1100);

const CATEGORIES = ['HR', 'HRT', 'HA', 'HAT', 'IL', 'ILV', 'SH', 'SHI', 'SHG', 'SX', 'SXM', 'VI', 'VIG'];
const PLACE = '@'.repeat(NONCE_CHARS);
const verdict = JSON.stringify({
  ...Object.fromEntries(CATEGORIES.map((name) => [name, 0])),
  word: 'under',
  nonce: PLACE,
});
const completion = JSON.stringify({
  id: 'chatcmpl-bench',
  object: 'chat.completion',
  created: 1_700_000_000,
  model: 'bench',
  choices: [{ index: 0, message: { role: 'assistant', content: verdict }, finish_reason: 'stop' }],
  usage: { prompt_tokens: promptTokens, completion_tokens: 80, total_tokens: promptTokens + 80 },
});
const [beforeNonce, afterNonce] = completion.split(PLACE);
const completionHeaders = { 'content-type': 'application/json', 'content-length': completion.length };
const models = { object: 'list', data: [{ id: 'bench', object: 'model', created: 1_700_000_000, owned_by: 'vllm' }] };

let chatCalls = 0;
let spans = 0;

const sendJson = (response, status, value) => {
  const text = JSON.stringify(value);
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': text.length }).end(text);
};

/** The digits behind the last marker, which is the one in the last message. */
const nonceIn = (body) => {
  const at = body.lastIndexOf(MARKER) + MARKER.length;
  const nonce = at < MARKER.length ? '' : body.latin1Slice(at, at + NONCE_CHARS);
  return /^\d{12}$/.test(nonce) ? nonce : undefined;
};

const answerChat = (response, body) => {
  chatCalls += 1;
  const nonce = nonceIn(body);
  if (nonce === undefined)
    return sendJson(response, 400, { error: { message: 'no [[text <12 digits>]] in the request' } });
  const send = () => response.writeHead(200, completionHeaders).end(beforeNonce + nonce + afterNonce);
  if (delayMs > 0) setTimeout(send, delayMs);
  else send();
};

/** A collector that counts. */
const takeSpans = (request, response) => {
  let text = '';
  request.setEncoding('latin1').on('data', (chunk) => {
    text += chunk;
  });
  request.on('end', () => {
    spans += text.split('"spanId":').length - 1;
    sendJson(response, 200, {});
  });
};

const server = createServer((request, response) => {
  const { method, url } = request;
  if (method === 'POST' && url === '/v1/chat/completions') {
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => answerChat(response, chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)));
  } else if (method === 'GET' && url === '/v1/models') sendJson(response, 200, models);
  else if (method === 'POST' && url === '/v1/traces') takeSpans(request, response);
  else if (method === 'GET' && url === '/bench/counts') sendJson(response, 200, { chatCalls, spans });
  else sendJson(response, 404, { error: { message: 'not found' } });
});
// Longer than any pause between two runs, so that no server meets a socket which is just being closed.
server.keepAliveTimeout = 120_000;
server.listen(Number(process.env.PORT), '127.0.0.1');
