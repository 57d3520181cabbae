import * as assert from 'uvu/assert';
import { describe } from '../../../check.ts';
import { answerTo, doubtful, REFUSALS, refused } from './world.ts';

/** The two shapes in which the relay tells a code: that of its checks before the handlers, and that of its handlers. */
const shapes = (status: number, code: string): readonly unknown[] => [
  { code, message: 'm' },
  { code: status, message: 'm', reason: code, metadata: { retry_after: '30' } },
];

const PAGE = '<!doctype html><html><title>Bad gateway</title></html>';
const SUCCESS = { code: 0, message: 'success', data: { id: 2, balance: 22.5 } };

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
