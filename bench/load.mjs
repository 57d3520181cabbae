// Sends one pre-written request over kept-alive sockets for a time, prints what it saw as one JSON line and ends.
// Its own process; the job comes as JSON in LOAD_JOB, written by rows.mjs and gateway.mjs.
import { connect } from 'node:net';
import { COUNTER_SLOT } from './payload.mjs';
import { parseResponse } from './response.mjs';

/** Uncounted time at the start of each run, in which this process compiles and the sockets open. */
const LEAD_IN_MS = 300;
const DRAIN_LIMIT_MS = 10_000;
const RECONNECT_MS = 20;
const MOST_PER_SECOND = 200_000;

const job = JSON.parse(process.env.LOAD_JOB);
const { port, path, headers, body, concurrency, seconds, firstText, lapTexts, expected, echoesCounter, cacheState } =
  job;

const head = Object.entries({ host: `127.0.0.1:${port}`, 'content-type': 'application/json', ...headers })
  .map(([name, value]) => `${name}: ${value}\r\n`)
  .join('');
const template = Buffer.from(
  `POST ${path} HTTP/1.1\r\n${head}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
);
const slotAt = template.lastIndexOf(COUNTER_SLOT);

const latenciesMs = new Float32Array(Math.ceil(seconds * MOST_PER_SECOND));
const failures = { count: 0, first: undefined };
let sent = 0;
let completed = 0;
let counted = 0;
let outstanding = 0;
let countsFromMs = Number.POSITIVE_INFINITY;
let countsUntilMs = Number.POSITIVE_INFINITY;
let isDraining = false;

const fail = (reason) => {
  failures.count += 1;
  failures.first ??= reason;
};

const counterOf = (index) =>
  String(firstText + (lapTexts === undefined ? index : index % lapTexts)).padStart(COUNTER_SLOT.length, '0');

/** What is wrong with an answer, or nothing. The first lap fills the cache, so it may be answered either way. */
const faultOf = ({ status, head: answerHead, body: answer }, index) => {
  if (status !== 200) return `status ${status}: ${answer.slice(0, 160)}`;
  if (!expected.every((part) => answer.includes(part))) return `unexpected answer: ${answer.slice(0, 160)}`;
  if (echoesCounter && !answer.includes(counterOf(index))) return `answer to another request: ${answer.slice(0, 160)}`;
  if (cacheState === undefined || index < (lapTexts ?? 0)) return undefined;
  const state = /\r\nx-moderation-cache: *(\w+)/i.exec(answerHead)?.[1];
  return state === cacheState ? undefined : `cache ${state} instead of ${cacheState}`;
};

const finish = () => {
  const sorted = latenciesMs.subarray(0, counted).sort();
  const quantile = (share) => sorted[Math.min(counted - 1, Math.floor(counted * share))] ?? null;
  const elapsedSeconds = (countsUntilMs - countsFromMs) / 1000;
  const result = {
    requestsPerSecond: counted / elapsedSeconds,
    p50Ms: quantile(0.5),
    p99Ms: quantile(0.99),
    maxMs: quantile(1),
    sent,
    failures,
  };
  process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit(0));
};

/** Opens the counted window once the lead-in is over and every text of a lap has been asked about. */
const advance = (nowMs) => {
  if (countsFromMs !== Number.POSITIVE_INFINITY || nowMs - startedAtMs < LEAD_IN_MS || completed < (lapTexts ?? 0))
    return;
  countsFromMs = nowMs;
  countsUntilMs = nowMs + seconds * 1000;
  setTimeout(drain, seconds * 1000);
};

/** Lets the requests that are under way end by themselves, so that no server is left with aborted work. */
const drain = () => {
  isDraining = true;
  if (outstanding === 0) finish();
};

const openConnection = () => {
  const request = Buffer.from(template);
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  let index = 0;
  let sentAtMs = 0;
  let pending;
  let isWaiting = false;

  const send = () => {
    index = sent++;
    request.latin1Write(counterOf(index), slotAt);
    isWaiting = true;
    outstanding += 1;
    sentAtMs = performance.now();
    socket.write(request);
  };
  const settle = () => {
    isWaiting = false;
    outstanding -= 1;
    completed += 1;
  };
  socket.on('connect', send);
  socket.on('data', (chunk) => {
    pending = pending === undefined ? chunk : Buffer.concat([pending, chunk]);
    const response = parseResponse(pending);
    if (response === undefined) return;
    const nowMs = performance.now();
    pending = undefined;
    settle();
    const fault = faultOf(response, index);
    if (fault !== undefined) fail(fault);
    else if (nowMs >= countsFromMs && nowMs < countsUntilMs) latenciesMs[counted++] = nowMs - sentAtMs;
    advance(nowMs);
    if (!isDraining) send();
    else if (outstanding === 0) finish();
  });
  socket.on('error', (error) => fail(`connection: ${error.code}`));
  socket.on('close', () => {
    if (isWaiting) {
      settle();
      fail('connection closed before the answer');
    }
    if (!isDraining) setTimeout(openConnection, RECONNECT_MS);
    else if (outstanding === 0) finish();
  });
};

const startedAtMs = performance.now();
setTimeout(
  () => {
    fail('no end within the time allowed');
    if (countsFromMs === Number.POSITIVE_INFINITY) [countsFromMs, countsUntilMs] = [startedAtMs, performance.now()];
    finish();
  },
  LEAD_IN_MS + seconds * 1000 + DRAIN_LIMIT_MS,
);
for (let opened = 0; opened < concurrency; opened++) openConnection();
