import * as assert from 'uvu/assert';
import { turnEndOf } from '../../../src/bridge/answer/failure.ts';
import { BRIDGE_ERROR_RESPONSES, type BridgeFault, toAnswerFailure } from '../../../src/bridge/errors.ts';
import { describe } from '../../check.ts';

const endOf = (name: string, data: object = {}): string => {
  const end = turnEndOf({ status: 'failed', error: { name, data }, finish: undefined });
  return end.kind === 'answered' ? end.finish : `${end.failure.status} ${end.failure.code}: ${end.failure.message}`;
};

describe('how a turn has ended', (check) => {
  check('is reported by its last message', () => {
    const finishes = [
      ['stop', 'stop'],
      ['length', 'length'],
      ['content-filter', 'content_filter'],
      ['tool-calls', 'stop'],
      ['unknown', 'stop'],
    ] as const;
    for (const [finish, expected] of finishes)
      assert.equal(turnEndOf({ status: 'completed', error: undefined, finish }), {
        kind: 'answered',
        finish: expected,
      });
  });

  check('is no failure where it was ended or came to a limit', () => {
    assert.equal(
      ['MessageAbortedError', 'MessageOutputLengthError', 'ContentFilterError'].map((name) => endOf(name)),
      ['stop', 'length', 'content_filter'],
    );
  });

  check('is a failure with a status that says whose it is', () => {
    assert.match(endOf('ProviderAuthError', { message: 'sk-secret123' }), /^502 model_unauthorized: [^-]*$/);
    assert.match(endOf('ContextOverflowError'), /^400 context_length_exceeded: /);
    assert.match(endOf('APIError', { statusCode: 429, message: 'x' }), /^429 rate_limit_exceeded: /);
    assert.is(
      endOf('APIError', { statusCode: 503, message: 'Overloaded' }),
      "502 model_error: The agent's model failed (HTTP 503): Overloaded",
    );
    assert.is(endOf('APIError'), "502 model_error: The agent's model failed: APIError");
    assert.is(endOf('UnknownError', { message: 'x y' }), "502 agent_error: The agent's turn failed: x y");
    assert.is(endOf('Odd\nname'), "502 agent_error: The agent's turn failed: Odd name");
  });

  check('is reported in one bounded line', () => {
    assert.is(
      endOf('UnknownError', { message: ' a\n\tb\u0000\u202ec ' }),
      "502 agent_error: The agent's turn failed: a b c",
    );
    const long = endOf('UnknownError', { message: `${'x'.repeat(299)}👍👍` }).split('failed: ')[1] ?? '';
    assert.ok(long.length === 300 && long.isWellFormed());
    const startedAt = performance.now();
    endOf('UnknownError', { message: 'token-'.repeat(100_000) });
    assert.ok(performance.now() - startedAt < 500);
  });

  check('is reported without what looks like a key, and with everything else', () => {
    for (const key of [
      'sk-proj-abcdefgh1234',
      'sk_live_abcdefgh',
      'Bearer abc123defg456',
      'token=12345678',
      'key: "k3y.with-dots_1"',
      "api key 'a1b2c3d4e5'",
    ])
      assert.match(endOf('UnknownError', { message: `Refused ${key} today` }), /\[redacted\]["']? today$/, key);
    for (const words of [
      'Incorrect API key provided',
      'You need admin privileges here',
      'An invalid token: authentication failed',
      'The key is short: abc1',
    ])
      assert.match(endOf('UnknownError', { message: words }), words, words);
  });
});

describe('a fault', (check) => {
  const AGENT: BridgeFault = {
    ...{ kind: 'agent-failed', status: 503, code: 'agent_busy' },
    ...{ message: 'Busy', isRetryable: true },
  };
  check('has the same status, code and text in a stream and in a response', async () => {
    const faults: readonly BridgeFault[] = [
      AGENT,
      { kind: 'unavailable', message: 'The bridge is being stopped', retryAfterMs: 1 },
      { kind: 'backend-error', reason: 'The agent server cannot be reached (ECONNREFUSED)' },
      { kind: 'backend-timeout' },
      { kind: 'bad-input', code: 'previous_response_not_found', param: null, message: 'No such response' },
      { kind: 'not-found', hint: 'The agent server knows no such thing' },
      { kind: 'overloaded', retryAfterMs: 5000 },
    ];
    for (const detail of faults) {
      const response = BRIDGE_ERROR_RESPONSES.forFault(detail);
      const { error } = (await response.json()) as { error: { code: string; message: string } };
      const failure = toAnswerFailure(detail);
      assert.equal([failure.status, failure.code], [response.status, error.code], detail.kind);
      assert.is(failure.message, error.message, detail.kind);
    }
    assert.equal(toAnswerFailure({ kind: 'body-too-slow' }), {
      status: 500,
      code: 'internal_error',
      message: 'The bridge failed',
    });
  });

  check('may be tried again where nothing was begun', () => {
    const mayRetry = (detail: BridgeFault) =>
      BRIDGE_ERROR_RESPONSES.forFault(detail).headers.get('x-should-retry') !== 'false';
    assert.equal(
      [AGENT, { ...AGENT, isRetryable: false }, { kind: 'backend-error', reason: 'x' } as const].map(mayRetry),
      [true, false, true],
    );
    assert.is(BRIDGE_ERROR_RESPONSES.forBug().status, 500);
  });
});
