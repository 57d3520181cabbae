import * as assert from 'uvu/assert';
import { Fault } from '../../../../src/core/fault.ts';
import { HttpClientError } from '../../../../src/core/http/client.ts';
import { toWriteFailure } from '../../../../src/relay-admin/relay/response.ts';
import { describe } from '../../../check.ts';
import { words } from '../../../words.ts';
import { doubtful, refused } from './world.ts';

describe('a failure below HTTP', (check) => {
  const BEFORE = words(`
    ECONNREFUSED ENOTFOUND EAI_AGAIN CONNECT_TIMEOUT DEPTH_ZERO_SELF_SIGNED_CERT SELF_SIGNED_CERT_IN_CHAIN
    UNABLE_TO_VERIFY_LEAF_SIGNATURE UNABLE_TO_GET_ISSUER_CERT_LOCALLY ERR_TLS_CERT_ALTNAME_INVALID CERT_HAS_EXPIRED
  `);
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
