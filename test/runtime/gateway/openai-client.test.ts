import OpenAI, {
  APIError,
  AuthenticationError,
  BadRequestError,
  InternalServerError,
  NotFoundError,
  RateLimitError,
} from 'openai';
import * as assert from 'uvu/assert';
import { describe, rejection } from '../../check.ts';
import { type Backend, judgedBy, type Script } from '../backends.ts';
import { KEY } from '../client.ts';
import type { Variables } from '../processes.ts';
import { withGateway } from './world.ts';

type World = {
  readonly openai: OpenAI;
  readonly backend: Backend;
  /** How many requests the client has sent to the gateway. */
  readonly sent: () => number;
};

/** Runs `body` with the official client as it comes, but for the address, the key and a count. */
const withClient =
  (script: Script, variables: (backend: Backend) => Variables, body: (world: World) => Promise<void>) =>
  (): Promise<void> =>
    withGateway({ script, variables }, async ({ gateway, backend }) => {
      let sent = 0;
      const openai = new OpenAI({
        baseURL: `${gateway.address}/v1`,
        apiKey: KEY,
        fetch(input, init) {
          sent += 1;
          return fetch(input, init);
        },
      });
      await body({ openai, backend, sent: () => sent });
    });

const judged: Script = () => undefined;
const own = ({ address }: Backend): Variables => judgedBy(address);

const failureOf = async (promise: Promise<unknown>): Promise<APIError> => {
  const error = await rejection(promise);
  assert.instance(error, APIError, String(error));
  return error as APIError;
};

describe('the official OpenAI client', (check) => {
  check(
    'has its texts judged: one or many, with a model or without',
    withClient(judged, own, async ({ openai }) => {
      const one = await openai.moderations.create({ input: 'I will kill you' });
      assert.is(one.model, 'omni-moderation-latest');
      assert.equal(
        one.results.map(({ flagged }) => flagged),
        [true],
      );
      assert.is(one.results[0]?.categories['harassment/threatening'], true);
      assert.is(one.results[0]?.category_scores.violence, 0.95);
      assert.equal(one.results[0]?.category_applied_input_types.violence, ['text']);
      const many = await openai.moderations.create({
        model: 'moderation-fast',
        input: ['good morning', 'I will kill you'],
      });
      assert.is(many.model, 'moderation-fast');
      assert.equal(
        many.results.map(({ flagged }) => flagged),
        [false, true],
      );
      const parts = await openai.moderations.create({ input: [{ type: 'text', text: 'I will kill you' }] });
      assert.equal(
        parts.results.map(({ flagged }) => flagged),
        [true],
      );
    }),
  );

  check(
    'finds the request id, and the models',
    withClient(judged, own, async ({ openai }) => {
      const moderation = await openai.moderations.create({ input: 'x' }, { headers: { 'x-request-id': 'mine-1' } });
      assert.is((moderation as { _request_id?: string })._request_id, 'mine-1');
      const names: string[] = [];
      for await (const { id } of openai.models.list()) names.push(id);
      assert.ok(names.includes('moderation-fast'));
      assert.is((await openai.models.retrieve('moderation-fast')).id, 'moderation-fast');
    }),
  );

  check(
    'has an error class for each refusal, with its code and its parameter, and asks once',
    withClient(judged, own, async ({ openai, sent, backend }) => {
      const unknownName = openai.withOptions({ apiKey: 'wrong' });
      const unknown = await failureOf(unknownName.moderations.create({ input: 'x' }));
      assert.instance(unknown, AuthenticationError);
      assert.equal([unknown.status, unknown.code, unknown.type], [401, 'invalid_api_key', 'invalid_request_error']);
      assert.match(unknown.requestID ?? '', /^req-/);
      const wrong = await failureOf(openai.moderations.create({ input: [] }));
      assert.instance(wrong, BadRequestError);
      assert.equal([wrong.code, wrong.param], ['empty_input', 'input']);
      const missing = await failureOf(openai.moderations.create({ model: 'gpt-5', input: 'x' }));
      assert.instance(missing, NotFoundError);
      assert.equal([missing.code, missing.param], ['model_not_found', 'model']);
      assert.equal([sent(), backend.calls.length], [3, 0]);
    }),
  );

  check(
    'gets the time to wait at a rate limit',
    withClient(
      judged,
      (backend) => ({ ...own(backend), RATE_LIMIT_RPM: '1' }),
      async ({ openai }) => {
        await openai.moderations.create({ input: 'x' });
        const limited = await failureOf(openai.moderations.create({ input: 'y' }, { maxRetries: 0 }));
        assert.instance(limited, RateLimitError);
        assert.equal([limited.status, limited.code], [429, 'rate_limit_exceeded']);
        assert.ok(Number(limited.headers?.get('retry-after')) >= 1);
      },
    ),
  );

  check.thorough(
    'does not retry while every backend key is refused',
    withClient(
      () => ({ status: 401, body: '{"error":"unauthorized"}' }),
      ({ address }) => ({
        BACKEND_BASE_URL: address,
        BACKEND_DIALECT: 'ollama',
        MODERATION_MODELS: '',
        BACKEND_API_KEYS: 'key-a,key-b',
      }),
      async ({ openai, sent, backend }) => {
        const failure = await failureOf(openai.moderations.create({ input: 'x' }));
        assert.instance(failure, InternalServerError);
        assert.equal([failure.status, failure.code], [503, 'no_backend_key']);
        assert.equal([sent(), backend.calls.length], [1, 2]);
      },
    ),
  );

  check.thorough(
    'does not retry a judge that gives no usable verdict',
    withClient(
      () => ({ status: 200, body: '{}' }),
      own,
      async ({ openai, sent }) => {
        const failure = await failureOf(openai.moderations.create({ input: 'x' }));
        assert.equal([failure.status, failure.code], [502, 'backend_unusable_reply']);
        assert.is(sent(), 1);
      },
    ),
  );

  check.thorough(
    'retries a backend that broke, and has its verdict when that recovers',
    withClient(
      ({ count }) => (count < 3 ? { status: 500, body: '{}' } : undefined),
      own,
      async ({ openai, sent, backend }) => {
        const { results } = await openai.moderations.create({ input: 'I will kill you' });
        assert.is(results[0]?.flagged, true);
        assert.equal([sent(), backend.calls.length], [3, 3]);
      },
    ),
  );

  check.thorough(
    'has the gateway give up when it would itself',
    withClient(
      () => 'hang',
      own,
      async ({ openai, backend }) => {
        // A client whose timeout only shows in what it sends: what ends the call can only be the gateway.
        const patient = openai.withOptions({
          fetch: (input, init) => fetch(input, { ...init, signal: null }),
          maxRetries: 0,
        });
        let answer: Response | undefined;
        const startedAt = performance.now();
        await rejection(
          patient
            .withOptions({
              fetch: async (input, init) => {
                answer = await fetch(input, { ...init, signal: null });
                return answer;
              },
            })
            .moderations.create({ input: 'x' }, { timeout: 1000 }),
        );
        await backend.calls[0]?.closed;
        const tookMs = performance.now() - startedAt;
        assert.ok(tookMs > 900 && tookMs < 5000, `${tookMs} ms`);
        assert.is(answer?.status, 504);
      },
    ),
  );
});
