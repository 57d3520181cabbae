import { HttpClientError } from '../../../src/core/http/client.ts';
import { BACKEND_CANARY } from './unusable-answers.ts';
import { type Answer, received } from './world.ts';

/** What a fault speaks against, which decides how many calls it is worth and what the client hears. */
export type Against = 'key' | 'host' | 'request';

type Faulty = {
  readonly answer: Answer;
  readonly against: Against;
  /** Of a fault that speaks against the key: what the client is told to wait when every key has it. */
  readonly waitSeconds?: number;
};

const status = (code: number, text: string, headers: Readonly<Record<string, string>> = {}): Answer => {
  return () => received(code, `${text} ${BACKEND_CANARY}`, headers);
};
const key = (answer: Answer, waitSeconds: number): Faulty => ({ answer, against: 'key', waitSeconds });
const host = (answer: Answer): Faulty => ({ answer, against: 'host' });
const request = (code: number): Faulty => ({ answer: status(code, '{"error":"no"}'), against: 'request' });
const burst = (retryAfter: string, waitSeconds: number): Faulty =>
  key(status(429, 'slow down', { 'retry-after': retryAfter }), waitSeconds);
const broken = (code: string): Faulty =>
  host(() => {
    throw new HttpClientError(code);
  });

/** 120 s is the most that a client is told, however long a key rests. */
const LONG = 120;
// The clock of the tests begins with 2026.
const IN_20_S = 'Thu, 01 Jan 2026 00:00:20 GMT';
const YESTERDAY = 'Wed, 31 Dec 2025 00:00:00 GMT';

/** How a backend fails, by what it does. */
export const FAULTS: Readonly<Record<string, Faulty>> = {
  'an error under HTTP 200': host(() =>
    received(200, JSON.stringify({ error: `model runner died ${BACKEND_CANARY}` })),
  ),
  'a used-up quota under HTTP 200': key(
    () => received(200, JSON.stringify({ error: "you've reached your hourly usage limit, please wait or upgrade" })),
    LONG,
  ),
  'a connection refused': broken('ECONNREFUSED'),
  'a connection reset in the middle of the body': broken('ECONNRESET'),
  'a name that does not resolve': broken('ENOTFOUND'),
  'a certificate that has expired': broken('CERT_HAS_EXPIRED'),
  'an answer without end': broken('ANSWER_TOO_LARGE'),
  '401 as plain text': key(status(401, 'unauthorized\n'), LONG),
  '403 without a subscription': key(status(403, '{"error":"this model requires a subscription"}'), LONG),
  '402': key(status(402, '{"error":"payment required"}'), LONG),
  '404 for the model': host(status(404, '{"error":"model not found"}')),
  '400': request(400),
  '409': request(409),
  '413': request(413),
  '422': request(422),
  'a redirect': request(302),
  'no content': request(204),
  '429 with 7 seconds': burst('7', 7),
  '429 with 30 seconds': burst('30', 30),
  '429 with 31 seconds': burst('31', 31),
  '429 with a fraction': burst('1.2', 2),
  '429 with a date': burst(IN_20_S, 20),
  '429 with a date in the past': burst(YESTERDAY, 5),
  '429 with 0': burst('0', 5),
  '429 with less than nothing': burst('-5', 5),
  '429 with words': burst('soon', 5),
  '429 with a year': burst('31536000', LONG),
  '429 without a time': key(status(429, 'too many requests'), 5),
  '429 for a weekly limit': key(
    status(429, '{"error":"you (someone) have reached your weekly usage limit, upgrade"}', { 'retry-after': '1' }),
    LONG,
  ),
  '429 for a session limit': key(status(429, 'you have reached your session usage limit'), LONG),
  '429 for a monthly limit': key(status(429, 'you have reached your monthly usage limit'), LONG),
  '500': host(status(500, '{"error":"internal"}')),
  '502 as a web page': host(status(502, '<html>Bad gateway</html>')),
  '503 overloaded': host(status(503, '{"error":"Server overloaded, please retry shortly (ref: 1)"}')),
  '504': host(status(504, '')),
  '529': host(status(529, '')),
};
