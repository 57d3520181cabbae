import * as assert from 'uvu/assert';
import { Fault } from '../../../src/core/fault.ts';
import { HttpClientError, type HttpResponse } from '../../../src/core/http/client.ts';
import {
  toWriteAnswer,
  toWriteFailure,
  UNKNOWN_REASONS,
  type UnknownReason,
  type WriteAnswer,
} from '../../../src/relay-admin/relay/response.ts';
import { describe } from '../../check.ts';

const received = (
  status: number,
  body: unknown = '',
  headers: Readonly<Record<string, string>> = {},
): HttpResponse => ({
  status,
  text: typeof body === 'string' ? body : JSON.stringify(body),
  header: (name) => headers[name] ?? null,
});
const answerTo = (...given: Parameters<typeof received>): WriteAnswer => toWriteAnswer(received(...given));
const refused = (status: number, isBeforeHandler = false): WriteAnswer => ({
  kind: 'refused',
  status,
  isBeforeHandler,
});
const doubtful = (doubt: UnknownReason): WriteAnswer => ({ kind: 'unknown', reason: doubt });

/** The two shapes in which the relay tells a code: that of its checks before the handlers, and that of its handlers. */
const shapes = (status: number, code: string): readonly unknown[] => [
  { code, message: 'm' },
  { code: status, message: 'm', reason: code, metadata: { retry_after: '30' } },
];

const PAGE = '<!doctype html><html><title>Bad gateway</title></html>';
const SUCCESS = { code: 0, message: 'success', data: { id: 2, balance: 22.5 } };

/** Status and code of a refusal, and what they say of the change. */
const REFUSALS: readonly (readonly [number, string, WriteAnswer])[] = [
  [400, 'IDEMPOTENCY_KEY_INVALID', refused(400)],
  [400, 'IDEMPOTENCY_KEY_REQUIRED', refused(400)],
  [401, 'INVALID_ADMIN_KEY', refused(401, true)],
  [401, 'UNAUTHORIZED', refused(401, true)],
  [403, 'FORBIDDEN', refused(403, true)],
  [404, 'USER_NOT_FOUND', refused(404)],
  [413, 'BODY_TOO_LARGE', refused(413)],
  [423, 'ADMIN_COMPLIANCE_ACK_REQUIRED', refused(423, true)],
  [429, 'PANEL_RATE_LIMITED', refused(429, true)],
  [409, 'IDEMPOTENCY_KEY_CONFLICT', refused(409, true)],
  [409, 'IDEMPOTENCY_IN_PROGRESS', doubtful('in-progress')],
  [409, 'IDEMPOTENCY_RETRY_BACKOFF', doubtful('retry-backoff')],
  [503, 'IDEMPOTENCY_STORE_UNAVAILABLE', doubtful('store-unavailable')],
  [409, 'SOMETHING_ELSE', doubtful('server-error')],
  [500, 'INTERNAL_ERROR', doubtful('server-error')],
  [503, 'SERVICE_UNAVAILABLE', doubtful('server-error')],
];

const STATUSES_WITHOUT_PROOF = [
  402, 405, 406, 408, 409, 410, 411, 412, 415, 421, 422, 425, 426, 428, 431, 444, 451, 499,
];
const SERVER_STATUSES = [500, 501, 502, 503, 504, 507, 508, 511, 520, 521, 522, 523, 524, 525, 526, 529, 530, 599];

describe('an answer to a change', (check) => {
  check('of 200 and code 0 says that it was carried out', () => {
    assert.equal(answerTo(200, SUCCESS), { kind: 'accepted', data: SUCCESS.data, isReplay: false });
    assert.equal(answerTo(200, { code: 0 }), { kind: 'accepted', data: undefined, isReplay: false });
  });

  check('reports whether it was carried out before, by the header alone', () => {
    const isReplay = (headers: Readonly<Record<string, string>>) => {
      const answer = answerTo(200, SUCCESS, headers);
      return answer.kind === 'accepted' && answer.isReplay;
    };
    assert.ok(isReplay({ 'x-idempotency-replayed': 'true' }));
    for (const value of ['false', '', '1', 'no']) assert.not(isReplay({ 'x-idempotency-replayed': value }), value);
    assert.not(isReplay({}));
  });

  for (const body of [
    '',
    PAGE,
    '{"code":0,"data":{"id":',
    '{}',
    'null',
    { data: {} },
    { code: 500 },
    { code: '0' },
    'x',
  ]) {
    check(`of 200 and ${JSON.stringify(body)} says nothing`, () => {
      for (const status of [200, 201, 202, 204])
        assert.equal(answerTo(status, body), doubtful('unusable-answer'), String(status));
    });
  }
  check('of 200 and a code of a refusal is no refusal', () => {
    for (const [status, code] of REFUSALS)
      for (const body of shapes(status, code)) assert.equal(answerTo(200, body), doubtful('unusable-answer'), code);
  });

  for (const status of [300, 301, 302, 303, 304, 305, 307, 308, 399]) {
    check(`of ${status} is a redirect that no one follows, and says nothing`, () => {
      for (const body of ['', PAGE, SUCCESS, { code: 'IDEMPOTENCY_KEY_CONFLICT' }])
        assert.equal(answerTo(status, body, { location: 'https://evil.com/' }), doubtful('redirected'));
    });
  }

  for (const [status, code, expected] of REFUSALS) {
    const isEarly = expected.kind === 'refused' && expected.isBeforeHandler;
    const verdict = expected.kind === 'unknown' ? `says nothing (${expected.reason})` : 'is a refusal';
    check(`of ${status} and ${code} ${verdict}${isEarly ? ' before the handlers' : ''}`, () => {
      for (const body of shapes(status, code)) {
        // A handler's 401, 403 or 423 has the other shape, and proves nothing.
        const isOfHandler = [401, 403, 423].includes(status) && 'reason' in Object(body);
        assert.equal(answerTo(status, body), isOfHandler ? refused(status) : expected);
      }
    });
  }

  check(
    'without the code of a check before the handlers is a refusal that says nothing of what was done before',
    () => {
      for (const status of [400, 401, 403, 404, 413, 423])
        for (const body of [
          '',
          PAGE,
          '{}',
          SUCCESS,
          { code: status, message: 'Invalid request: balance' },
          { code: 'x' },
        ])
          assert.equal(answerTo(status, body), refused(status), `${status} ${JSON.stringify(body)}`);
    },
  );

  check('of 400, 404 or 413 comes from a handler, whatever code it has', () => {
    for (const status of [400, 404, 413])
      for (const body of shapes(status, 'INVALID_ADMIN_KEY')) assert.equal(answerTo(status, body), refused(status));
  });

  check('of 429 comes from a limit before the handlers, whatever its body', () => {
    for (const body of ['', PAGE, '{}', SUCCESS]) assert.equal(answerTo(429, body), refused(429, true));
  });

  check('of any other status from 400 on proves nothing, whatever its body', () => {
    for (const status of [...STATUSES_WITHOUT_PROOF, ...SERVER_STATUSES])
      for (const body of ['', PAGE, '{}', SUCCESS, { code: 'NOT_APPLIED', message: 'nothing was done' }])
        assert.equal(answerTo(status, body), doubtful('server-error'), `${status} ${JSON.stringify(body)}`);
  });

  check('of a key conflict proves something under its own status only', () => {
    for (const status of [500, 502, 503, 408, 422])
      for (const body of shapes(status, 'IDEMPOTENCY_KEY_CONFLICT'))
        assert.equal(answerTo(status, body), doubtful('server-error'), String(status));
    assert.equal(answerTo(400, shapes(400, 'IDEMPOTENCY_KEY_CONFLICT')[0]), refused(400));
  });

  check('with a hostile code is what it is without one', () => {
    const HOSTILE = [
      '__proto__',
      'constructor',
      'toString',
      'valueOf',
      'hasOwnProperty',
      '',
      'A'.repeat(65),
      'IDEMPOTENCY_KEY_CONFLICT ',
      'idempotency_key_conflict',
      ' IDEMPOTENCY_IN_PROGRESS',
      'IDEMPOTENCY_IN_PROGRESS\n',
      'x'.repeat(1_000_000),
    ];
    for (const code of HOSTILE) {
      for (const status of [409, 500, 503])
        for (const body of shapes(status, code)) assert.equal(answerTo(status, body), doubtful('server-error'));
      for (const body of shapes(400, code)) assert.equal(answerTo(400, body), refused(400));
    }
    assert.equal(answerTo(409, '{"__proto__":{"code":"IDEMPOTENCY_KEY_CONFLICT"}}'), doubtful('server-error'));
  });

  check('under an odd status says nothing', () => {
    for (const status of [0, 100, 101, 103, 199, 600, 999])
      assert.is(answerTo(status, SUCCESS).kind, 'unknown', String(status));
  });
});

describe('a failure below HTTP', (check) => {
  const BEFORE = [
    'ECONNREFUSED',
    'ENOTFOUND',
    'EAI_AGAIN',
    'CONNECT_TIMEOUT',
    'DEPTH_ZERO_SELF_SIGNED_CERT',
    'SELF_SIGNED_CERT_IN_CHAIN',
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
    'ERR_TLS_CERT_ALTNAME_INVALID',
    'CERT_HAS_EXPIRED',
  ];
  for (const code of BEFORE) {
    check(`of ${code} proves that nothing was sent`, () => {
      assert.equal(toWriteFailure(new HttpClientError(code)), refused(0, true));
    });
  }

  const AFTER = [
    'ECONNRESET',
    'EPIPE',
    'ETIMEDOUT',
    'EHOSTUNREACH',
    'ENETUNREACH',
    'ECONNABORTED',
    'UND_ERR_SOCKET',
    'UND_ERR_HEADERS_TIMEOUT',
    'UND_ERR_BODY_TIMEOUT',
    'UND_ERR_RESPONSE',
    'HPE_INVALID_CONSTANT',
    'CONNECTION_FAILED',
    'EPROTO',
    'SOMETHING_NEW',
    '',
  ];
  for (const code of AFTER) {
    check(`of ${JSON.stringify(code)} may have come after the request`, () => {
      assert.equal(toWriteFailure(new HttpClientError(code)), doubtful('no-answer'));
    });
  }

  check('of an answer that is too large says nothing, though there was one', () => {
    assert.equal(toWriteFailure(new HttpClientError('ANSWER_TOO_LARGE')), doubtful('unusable-answer'));
  });

  check('that is the end of the time, or anything unheard of, says nothing', () => {
    const THROWN = [
      new Fault({ kind: 'backend-timeout' }),
      new Fault({ kind: 'client-left' }),
      new TypeError('x'),
      Object.assign(new Error('x'), { code: 'ECONNREFUSED' }),
      { name: 'HttpClientError', code: 'ECONNREFUSED' },
      'ECONNREFUSED',
      undefined,
      null,
    ];
    for (const thrown of THROWN) assert.equal(toWriteFailure(thrown), doubtful('timed-out'));
  });
});

describe('every doubt', (check) => {
  check('can come of an answer or of a failure', () => {
    const reported = [
      answerTo(200, ''),
      answerTo(302),
      ...REFUSALS.map(([, , answer]) => answer),
      toWriteFailure(new HttpClientError('ECONNRESET')),
      toWriteFailure(new Fault({ kind: 'backend-timeout' })),
    ];
    const doubts = reported.map((answer) => (answer.kind === 'unknown' ? answer.reason : undefined));
    assert.equal(
      UNKNOWN_REASONS.filter((doubt) => !doubts.includes(doubt)),
      [],
    );
  });
});
