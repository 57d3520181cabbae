// Our agent server's wire at the least cost, so that what is measured is whoever stands before it: its turns, and the sessions and
// events that bridges of before used. Every prompt is answered by
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

const orderIn = (text) => {
  const [, pieces = '8', chars = '6', ms = '0'] = /(\d+) pieces of (\d+) every (\d+)/.exec(text) ?? [];
  const piece = `${'abcdefghij'.repeat(Math.ceil(Number(chars) / 10)).slice(0, Number(chars) - 1)} `;
  return { pieces: Number(pieces), piece, ms: Number(ms) };
};
const answer = async (sessionID, text) => {
  const { pieces, piece, ms } = orderIn(text);
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
  for (let said = 0; said < pieces; said++) {
    await untilDue(startedAtMs, said, ms);
    tell('message.part.delta', { sessionID, messageID: info.id, partID: part.id, field: 'text', delta: piece });
  }
  const tookMs = performance.now() - startedAtMs;
  latestMs = Math.max(latestMs, tookMs - (pieces - 1) * ms);
  const whole = { ...part, text: piece.repeat(pieces), time: { start: 1, end: 2 } };
  tell('message.part.updated', { part: whole });
  const done = { ...info, time: { ...time, completed: Date.now() }, finish: 'stop' };
  tell('message.updated', { info: done });
  const record = { info: done, parts: [whole] };
  messages.set(sessionID, [{ info: asked, parts: [] }, record]);
  return record;
};

/** When the piece at a place is due, by the clock and not by the piece before, so that the delays of timers do not add up. */
const untilDue = async (startedAtMs, said, ms) => {
  const dueMs = startedAtMs + said * ms - performance.now();
  if (ms > 0 && dueMs > 0) await pause(dueMs);
};
const streamTurn = async (response, text) => {
  const { pieces, piece, ms } = orderIn(text);
  const place = { messageID: newId('msg'), partID: newId('prt') };
  const ids = { id: newId('trn'), conversationID: newId('cnv'), sessionID: newId('ses'), promptID: newId('msg') };
  const usage = { input: 1, output: 1, reasoning: 0, cacheRead: 0, cacheWrite: 0 };
  const turn = { ...ids, model: 'bench/main', isStored: true, metadata: {}, createdMs: Date.now(), from: 0, usage };
  const send = (name, data) => response.write(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  send('turn', { outcome: 'begun', reader: newId('rdr'), turn: { ...turn, status: 'running', position: 0 } });
  const startedAtMs = performance.now();
  for (let said = 0; said < pieces; said++) {
    await untilDue(startedAtMs, said, ms);
    send('entries', [{ position: said + 1, type: 'text', ...place, text: piece }]);
  }
  latestMs = Math.max(latestMs, performance.now() - startedAtMs - (pieces - 1) * ms);
  send('entries', [
    { position: pieces + 1, type: 'text-ended', ...place },
    { position: pieces + 2, type: 'step', messageID: place.messageID, finish: 'stop' },
  ]);
  send('end', { ...turn, status: 'completed', position: pieces + 2, endedMs: Date.now(), finish: 'stop' });
  response.end();
};

const server = createServer((request, response) => {
  const chunks = [];
  request.on('data', (bytes) => chunks.push(bytes));
  request.on('end', async () => {
    const { pathname } = new URL(request.url, 'http://localhost');
    const text = Buffer.concat(chunks).toString('utf8');
    const [, kind, id, what] = pathname.split('/');
    if (pathname === '/global/health') reply(response, { healthy: true, version: '0.0.0', features: ['turns'] });
    else if (pathname === '/gatehouse/turns') await streamTurn(response, text);
    else if (pathname === '/event') {
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
