// Our agent server's wire at the least cost, so that what is measured is whoever stands before it. Every prompt is answered by
// "<pieces> pieces of <chars> every <ms>", as its words say. Environment: PORT.
import { createServer } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';

const REVISION_HEADER = 'x-gatehouse-if-revision';

const listeners = new Set();
const sessions = new Map();
/** The last messages of each session, for whoever has lost events. */
const messages = new Map();
let count = 0;
/** By how much the last piece of an answer came late at most, since that was last asked. */
let latestMs = 0;
const newId = (prefix) => `${prefix}_${String(++count).padStart(26, '0')}`;
const tell = (type, properties) => {
  const line = `data: ${JSON.stringify({ type, properties })}\n\n`;
  for (const listener of listeners) listener.write(line);
};
const tellSession = (type, info) => tell(type, { sessionID: info.id, info });
const reply = (response, value, headers = {}) =>
  response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value));

const PROVIDERS = {
  providers: [{ id: 'bench', name: 'Bench', models: { main: { id: 'main', name: 'Main' } } }],
  default: {},
};

const answer = async (sessionID, text) => {
  const [, pieces = '8', chars = '6', ms = '0'] = /(\d+) pieces of (\d+) every (\d+)/.exec(text) ?? [];
  const piece = `${'abcdefghij'.repeat(Math.ceil(Number(chars) / 10)).slice(0, Number(chars) - 1)} `;
  const user = newId('msg');
  const time = { created: Date.now() };
  const asked = { id: user, sessionID, role: 'user', time };
  tell('message.updated', { info: asked });
  const info = {
    id: newId('msg'),
    sessionID,
    role: 'assistant',
    parentID: user,
    modelID: 'main',
    providerID: 'bench',
    time,
  };
  tell('message.updated', { info });
  const part = { id: newId('prt'), sessionID, messageID: info.id, type: 'text', text: '' };
  tell('message.part.updated', { part });
  const startedAtMs = performance.now();
  for (let said = 0; said < Number(pieces); said++) {
    // By the clock and not by the piece before, so that the delays of timers do not add up.
    const dueMs = startedAtMs + said * Number(ms) - performance.now();
    if (Number(ms) > 0 && dueMs > 0) await pause(dueMs);
    tell('message.part.delta', { sessionID, messageID: info.id, partID: part.id, field: 'text', delta: piece });
  }
  const tookMs = performance.now() - startedAtMs;
  latestMs = Math.max(latestMs, tookMs - (Number(pieces) - 1) * Number(ms));
  const whole = { ...part, text: piece.repeat(Number(pieces)), time: { start: 1, end: 2 } };
  tell('message.part.updated', { part: whole });
  const done = { ...info, time: { ...time, completed: Date.now() }, finish: 'stop' };
  tell('message.updated', { info: done });
  const record = { info: done, parts: [whole] };
  messages.set(sessionID, [{ info: asked, parts: [] }, record]);
  return record;
};

const server = createServer((request, response) => {
  const chunks = [];
  request.on('data', (bytes) => chunks.push(bytes));
  request.on('end', async () => {
    const { pathname } = new URL(request.url, 'http://localhost');
    const text = Buffer.concat(chunks).toString('utf8');
    const [, kind, id, what] = pathname.split('/');
    if (pathname === '/event') {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: {"type":"server.connected","properties":{}}\n\n');
      listeners.add(response);
      response.on('close', () => listeners.delete(response));
    } else if (pathname === '/bench/late') {
      reply(response, { latestMs });
      latestMs = 0;
    } else if (pathname === '/config/providers') reply(response, PROVIDERS);
    else if (pathname === '/config') reply(response, { model: 'bench/main' });
    else if (kind === 'session' && id === 'status') reply(response, {});
    else if (pathname === '/permission') reply(response, []);
    else if (what === 'message' && request.method === 'GET') reply(response, messages.get(id) ?? []);
    else if (kind === 'session' && what === 'message') reply(response, await answer(id, text));
    else if (kind === 'session' && id !== undefined) {
      const known = { ...sessions.get(id), ...(text === '' ? {} : JSON.parse(text)) };
      sessions.set(id, known);
      if (request.method === 'PATCH') tellSession('session.updated', known);
      // Our own agent server says that it has looked at the revision.
      const revision = request.headers[REVISION_HEADER];
      reply(response, known, revision === undefined ? {} : { [REVISION_HEADER]: revision });
    } else if (kind === 'session' && request.method === 'GET') reply(response, []);
    else if (kind === 'session') {
      const made = { ...JSON.parse(text), id: newId('ses'), time: { created: 1, updated: 1 } };
      sessions.set(made.id, made);
      tellSession('session.created', made);
      reply(response, made);
    } else reply(response, {});
  });
});
server.keepAliveTimeout = 120_000;
server.listen(Number(process.env.PORT), '127.0.0.1');
