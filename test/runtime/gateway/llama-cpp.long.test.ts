import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { LLAMA_GUARD } from '../../../src/gateway/judge/guard-model/llama-guard.ts';
import { readLikelihood } from '../../../src/gateway/judge/guard-model/probability.ts';
import { createJudgePrompts } from '../../../src/gateway/judge/prompt.ts';
import { DEFAULT_POLICY } from '../../../src/gateway/policy/policy.ts';
import { openai } from '../../../src/llm/openai.ts';
import { describe } from '../../check.ts';
import { GUARD_MODEL_KINDS } from '../../gateway/harness/guard-models.ts';
import { installPythonPackages } from '../bridge-clients/python-packages.ts';
import { KEY } from '../client.ts';
import { start } from '../processes.ts';
import { type Gateway, startGateway } from './process.ts';
import { writeTinyModel } from './tiny-model.ts';

// The server of llama.cpp as PyPI ships it, with a model of random weights: what it writes is never a verdict, so no answer
// of the gateway may be one.

const PACKAGE = 'xllamacpp==2026.10.11549';
const CONTEXT_TOKENS = 16_384;
const { directory, missing } = installPythonPackages('llama.cpp', [PACKAGE]);

const SERVE = `
import sys, time, xllamacpp
params = xllamacpp.CommonParams()
params.model.path, params.n_ctx, params.port = sys.argv[1], int(sys.argv[2]), 0
params.n_parallel, params.cpuparams.n_threads, params.warmup = 1, 2, False
server = xllamacpp.Server(params)
print("serving at", server.listening_address, flush=True)
time.sleep(3600)
`;

type World = {
  readonly gateway: Gateway;
  /** Where llama.cpp is served. */
  readonly address: string;
  readonly ask: (
    body: object,
  ) => Promise<{ readonly response: Response; readonly error: { code: string; message: string } }>;
};

const withLlamaCpp = async (
  body: (world: World) => Promise<void>,
  variables: Readonly<Record<string, string>> = {},
): Promise<void> => {
  const model = join(directory, 'tiny.gguf');
  writeTinyModel(model);
  const server = start('python3', ['-c', SERVE, model, String(CONTEXT_TOKENS)], {
    variables: { PYTHONPATH: directory },
  });
  try {
    const [, address = ''] = await server.outputMatching(/serving at (\S+)/);
    const tiny = { model: 'tiny', vision: true };
    const gateway = await startGateway({
      MODERATION_API_KEYS: KEY,
      BACKEND_BASE_URL: address,
      REQUEST_DEADLINE_MS: '300000',
      ...variables,
      MODERATION_MODELS: JSON.stringify({
        ...Object.fromEntries(
          GUARD_MODEL_KINDS.map((judge) => [judge, { model: 'tiny', judge, second: 'moderation-fast' }]),
        ),
        'moderation-fast': tiny,
        'moderation-standard': tiny,
        'moderation-accurate': tiny,
      }),
    });
    try {
      await body({
        gateway,
        address,
        async ask(sent) {
          const response = await fetch(`${gateway.address}/v1/moderations`, {
            method: 'POST',
            headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
            body: JSON.stringify(sent),
          });
          const { error } = (await response.json()) as { error: { code: string; message: string } };
          return { response, error };
        },
      });
    } finally {
      await gateway.kill();
    }
  } finally {
    await server.kill();
  }
};

const metricOf = async ({ address }: Gateway, line: RegExp): Promise<number> => {
  const text = await (await fetch(`${address}/metrics`)).text();
  return Number(line.exec(text)?.[1] ?? 0);
};

describe('the gateway before a real llama.cpp', (check) => {
  check.needing(missing, 'is ready, and knows its dialect and that the model sees no images', () =>
    withLlamaCpp(async ({ gateway }) => {
      const response = await fetch(`${gateway.address}/ready`);
      assert.is(response.status, 200);
      assert.match(await response.text(), 'the model sees no images');
      assert.match(gateway.stderr(), /"backend-dialect","state":"openai"/);
    }),
  );

  check.needing(missing, 'has no verdict of a model that writes at random, within the bounds of the schema', () =>
    withLlamaCpp(async ({ gateway, ask }) => {
      const texts = ['hello there', 'hello again', 'and a third text'];
      for (const input of texts) {
        const { response, error } = await ask({ input });
        assert.equal(
          [response.status, error.code, response.headers.get('x-should-retry')],
          [502, 'backend_unusable_reply', 'false'],
        );
      }
      // The schema is taken, and each first answer under it is whole: it fails by its content alone.
      assert.match(gateway.stderr(), /"verdict-unusable".*"reason":"(?:wrong nonce|it lacks the policy's word)/);
      // A prompt in the server's cache is counted whole.
      assert.not.match(gateway.stderr(), /"reason":"the server counts/);
      const written = await metricOf(gateway, /gatehouse_tokens_total\{model="tiny",kind="output"\} (\d+)/);
      const read = await metricOf(gateway, /gatehouse_tokens_total\{model="tiny",kind="prompt"\} (\d+)/);
      assert.ok(written > 0 && written < texts.length * 2000, `${written} tokens written`);
      assert.ok(read >= texts.length * 3500, `${read} tokens read`);
      const cached = await metricOf(gateway, /gatehouse_tokens_total\{model="tiny",kind="cache_read"\} (\d+)/);
      assert.ok(cached > read / 3 && cached < read, `${cached} of ${read} tokens found in its cache`);
    }),
  );

  check.needing(missing, 'has no verdict of a guard model that writes at random, whatever it is said to be', () =>
    withLlamaCpp(async ({ gateway, ask }) => {
      for (const kind of GUARD_MODEL_KINDS) {
        const { response, error } = await ask({ model: kind, input: 'hello there' });
        assert.equal([response.status, error.code], [502, 'backend_unusable_reply'], kind);
      }
      assert.not.match(gateway.stderr(), /"backend-breaker"|"backend-key"/);
    }),
  );

  check.needing(missing, 'finds the probability of a guard model in the log-probabilities that it is sent', () =>
    withLlamaCpp(async ({ address }) => {
      const body = openai.createBody({
        model: 'tiny',
        user: 'hello there',
        templateSettings: { guideline: 'no harm' },
        think: false,
        topLogprobs: 20,
        contextTokens: 0,
        outputTokens: 64,
      });
      // A grammar of its own has the random model answer in the form of Llama Guard.
      const grammar = String.raw`root ::= "safe" | "unsafe\nS1,S10"`;
      const response = await fetch(`${address}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ ...JSON.parse(body), grammar }),
      });
      const reply = openai.parseReply(await response.text(), 'tiny');
      if (reply.kind !== 'answered') throw new Error(`Expected an answer: ${JSON.stringify(reply)}`);
      const { content, logprobs = [] } = reply;
      const answer = LLAMA_GUARD.parse(content.trim(), 'tiny');
      if (answer === undefined) throw new Error(`Expected the form: ${content}`);
      const written = logprobs.map(({ token }) => token).join('');
      assert.ok(written.startsWith(content), 'the tokens are those of the answer');
      assert.ok(logprobs.every(({ top }) => top.length > 0 && top.length <= 20));
      // Whether the labels have much of the probability is up to chance: the place of the label is found in any case.
      assert.ok(readLikelihood(logprobs, answer, LLAMA_GUARD.labels) !== undefined);
    }),
  );

  check.needing(missing, 'finds in its cache what every prompt begins with', () =>
    withLlamaCpp(async ({ address }) => {
      const prompts = createJudgePrompts(DEFAULT_POLICY);
      const cachedOf = async (system: string, user: string): Promise<readonly [cached: number, all: number]> => {
        const body = openai.createBody({ model: 'tiny', system, user, contextTokens: 0, outputTokens: 1 });
        const headers = { 'content-type': 'application/json' };
        const response = await fetch(`${address}/v1/chat/completions`, { method: 'POST', headers, body });
        const { usage } = (await response.json()) as {
          usage: { prompt_tokens: number; prompt_tokens_details: { cached_tokens: number } };
        };
        return [usage.prompt_tokens_details.cached_tokens, usage.prompt_tokens];
      };
      const single = (text: string, nonce: string) => prompts.user({ text, part: 1, parts: 1 }, nonce, false);
      await cachedOf(prompts.system, single('hello there', '123456789012'));
      const [cached, all] = await cachedOf(prompts.system, single('another text', '987654321098'));
      assert.ok(cached / all > 0.75, `${cached} of ${all}`);
    }),
  );

  check.needing(missing, 'says once and in its own words that a prompt is too long', () =>
    withLlamaCpp(async ({ gateway, ask }) => {
      const { response, error } = await ask({ input: 'word '.repeat(4000) });
      assert.equal(
        [response.status, error.code, response.headers.get('x-should-retry')],
        [502, 'backend_error', 'false'],
      );
      assert.match(error.message, 'longer than the context of the model');
      assert.is(await metricOf(gateway, /gatehouse_backend_calls_total\{outcome="rejected",model="tiny"\} (\d+)/), 1);
      assert.not.match(gateway.stderr(), /"backend-breaker"|"backend-key"/);
    }),
  );

  check.needing(missing, 'sends it no image', () =>
    withLlamaCpp(async ({ gateway, ask }) => {
      const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } };
      const { response, error } = await ask({ input: [image] });
      assert.equal([response.status, error.code], [400, 'image_unsupported']);
      assert.is(await metricOf(gateway, /gatehouse_backend_calls_total\{[^}]*\} (\d+)/), 0);
    }),
  );
});
