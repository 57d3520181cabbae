// Many streams of a bridge at once, read at the least cost; a process of its own, told by GET requests and answered in JSON.
//   /run?port=1&streams=500&name=many&parallel=500&order=200 pieces of 10 every 25
// Every fiftieth stream is kept and checked: the others are counted as they pass. Environment: PORT.
import { createServer } from 'node:http';
import { connect } from 'node:net';

const EVENT_END = Buffer.from('\n\n');
const NEW_LINE = 10;
const TAIL_BYTES = 64;
const CHECKED_EVERY = 50;

/** How many events end in these bytes; one whose last two bytes come apart ends in the later ones. */
const countEnds = (bytes, endedInNewLine) => {
  let count = endedInNewLine && bytes[0] === NEW_LINE ? 1 : 0;
  for (let at = bytes.indexOf(EVENT_END); at !== -1; at = bytes.indexOf(EVENT_END, at + 2)) count += 1;
  return count;
};

/** The text of an answer, put together from its chunks. */
const textOf = (bytes) =>
  bytes
    .toString('utf8')
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice(6)).choices[0]?.delta?.content ?? '')
    .join('');

/** Reads one answer to its end: how long it took until its last bytes, and how many events it had; or the last bytes of one that failed. */
const readStream = (port, order, sessionName, isChecked) =>
  new Promise((resolve) => {
    const body = JSON.stringify({ stream: true, messages: [{ role: 'user', content: order }] });
    const head = [
      'POST /v1/chat/completions HTTP/1.1',
      `host: 127.0.0.1:${port}`,
      'content-type: application/json',
      `x-session-id: ${sessionName}`,
      'connection: close',
      `content-length: ${body.length}`,
    ];
    const startedAtMs = performance.now();
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    const kept = [];
    let tail = Buffer.alloc(0);
    let events = 0;
    let endedAtMs = startedAtMs;
    socket.on('connect', () => socket.write(`${head.join('\r\n')}\r\n\r\n${body}`));
    socket.on('data', (bytes) => {
      endedAtMs = performance.now();
      events += countEnds(bytes, tail.at(-1) === NEW_LINE);
      tail =
        bytes.length >= TAIL_BYTES ? bytes.subarray(-TAIL_BYTES) : Buffer.concat([tail, bytes]).subarray(-TAIL_BYTES);
      if (isChecked) kept.push(bytes);
    });
    socket.on('error', ({ code }) => resolve({ failure: code }));
    socket.on('close', () => {
      if (!tail.includes('[DONE]')) resolve({ failure: tail.toString('latin1') });
      else
        resolve({ tookMs: endedAtMs - startedAtMs, events, text: isChecked ? textOf(Buffer.concat(kept)) : undefined });
    });
  });

const run = async ({ port, streams, name, parallel, order }) => {
  const [, pieces, chars] = /^(\d+) pieces of (\d+)/.exec(order).map(Number);
  const results = [];
  let begun = 0;
  const lane = async () => {
    while (begun < streams) {
      const index = begun++;
      results.push(await readStream(port, order, `${name}-${index}`, index % CHECKED_EVERY === 0));
    }
  };
  await Promise.all(Array.from({ length: Math.min(parallel, streams) }, lane));
  const failures = results.filter(({ failure }) => failure !== undefined);
  const ended = results.filter(({ failure }) => failure === undefined);
  if (ended.length === 0) throw new Error(`all ${streams} failed, one with ${failures[0].failure}`);
  const lengths = ended.filter(({ text }) => text !== undefined).map(({ text }) => text.length);
  const wrong = lengths.find((length) => length !== pieces * chars);
  if (wrong !== undefined) throw new Error(`an answer of ${wrong} characters in place of ${pieces * chars}`);
  return {
    slowestMs: Math.max(...ended.map(({ tookMs }) => tookMs)),
    events: ended.reduce((total, one) => total + one.events, 0),
    failures: failures.length,
  };
};

createServer(async ({ url }, response) => {
  const { pathname, searchParams: given } = new URL(url, 'http://localhost');
  if (pathname !== '/run') return response.writeHead(200).end('{}');
  const number = (name) => Number(given.get(name));
  const job = { port: number('port'), streams: number('streams'), parallel: number('parallel') };
  try {
    const result = await run({ ...job, name: given.get('name'), order: given.get('order') });
    return response.writeHead(200).end(JSON.stringify(result));
  } catch (error) {
    return response.writeHead(500).end(error.message);
  }
}).listen(Number(process.env.PORT), '127.0.0.1');
