import * as assert from 'uvu/assert';
import { HttpClientError } from '../../src/core/http/client.ts';
import {
  createDetectedDialect,
  createFixedDialect,
  type DetectedDialect,
  detectDialect,
} from '../../src/llm/detect.ts';
import { ollama } from '../../src/llm/ollama.ts';
import { openai } from '../../src/llm/openai.ts';
import type { Dialect } from '../../src/llm/types.ts';
import { describe, rejection } from '../check.ts';
import { type Answer, BASE_URL, CANARY, createScriptedExchange, reset, type Step } from './scripted-client.ts';

const OLLAMA: Answer = { text: '{"version":"0.33.0"}' };
const MODELS: Answer = { text: '{"object":"list","data":[{"id":"gpt-oss-20b"}]}' };
const HTML: Answer = { text: `<html>${CANARY}</html>` };
const status = (code: number, text: string = CANARY): Answer => ({ status: code, text });

/** A server that answers by path; what it does not know is a 404. */
const detect = async (paths: Readonly<Record<string, Step>>, signal = new AbortController().signal) => {
  const { httpClient, calls } = createScriptedExchange(({ url }) => paths[url.replace(BASE_URL, '')] ?? status(404));
  const found = detectDialect({ baseUrl: BASE_URL, httpClient, headers: { authorization: 'Bearer k' }, signal });
  const { dialect, isCertain } = (await found) ?? {};
  return { name: dialect?.name, isCertain, paths: calls.map(({ path }) => path), calls };
};

describe('the dialect of a self-hosted server', (check) => {
  check("is Ollama's where /api/version reports a version, and nothing more is asked", async () => {
    const { name, isCertain, paths, calls } = await detect({ '/api/version': OLLAMA, '/v1/models': MODELS });
    assert.is(name, 'ollama');
    assert.is(isCertain, true);
    assert.equal(paths, ['/api/version']);
    assert.is(calls[0]?.sent.method, 'GET');
    assert.is(calls[0]?.key, 'k');
    assert.is(calls[0]!.sent.body, undefined);
  });

  check("is OpenAI's where only /v1/models reports models", async () => {
    const { name, isCertain, paths } = await detect({ '/v1/models': MODELS });
    assert.is(name, 'openai');
    assert.is(isCertain, true);
    assert.equal(paths, ['/api/version', '/v1/models']);
    for (const version of [HTML, { text: '{}' }, { text: '{"version":3}' }, status(405), status(200, '')]) {
      assert.is((await detect({ '/api/version': version, '/v1/models': MODELS })).name, 'openai', version.text);
    }
  });

  check("is OpenAI's where /v1/models wants another key", async () => {
    for (const code of [401, 403, 429]) assert.is((await detect({ '/v1/models': status(code) })).name, 'openai');
  });

  check('is refused where an Ollama shows only its other dialect, in which it cuts long prompts', async () => {
    const models = { text: '{"object":"list","data":[{"id":"gpt-oss:20b","object":"model","owned_by":"library"}]}' };
    const thrown = await rejection(detect({ '/v1/models': models }));
    assert.is(thrown instanceof HttpClientError && thrown.code, 'OLLAMA_WITHOUT_ITS_API');
  });

  check('is supposed to be Ollama where the key is refused: the refusal will be seen, and nothing is cut', async () => {
    for (const code of [401, 403, 429]) {
      const { name, isCertain, paths } = await detect({ '/api/version': status(code), '/v1/models': MODELS });
      assert.equal({ name, isCertain, paths }, { name: 'ollama', isCertain: false, paths: ['/api/version'] });
    }
  });

  check('is unknown where neither path is what it should be', async () => {
    const strange: Step[] = [HTML, { text: '{}' }, { text: '{"data":{}}' }, { text: '{"models":[]}' }];
    const failing = [404, 302, 400, 500, 503].map((code) => status(code));
    for (const models of [...strange, ...failing]) {
      assert.is((await detect({ '/v1/models': models })).name, undefined);
    }
    assert.is((await detect({ '/api/version': HTML, '/v1/models': HTML })).name, undefined);
  });

  check('is not read out of what comes with another status', async () => {
    for (const code of [201, 302, 400, 404]) {
      const paths = { '/api/version': { ...OLLAMA, status: code }, '/v1/models': { ...MODELS, status: code } };
      assert.is((await detect(paths)).name, undefined, String(code));
    }
  });

  check('is not to be had where no one answers, and the reason is passed on', async () => {
    for (const step of [reset(), reset('ECONNREFUSED'), reset('ANSWER_TOO_LARGE')]) {
      const thrown = await rejection(detect({ '/api/version': step, '/v1/models': MODELS }));
      assert.is(thrown, step);
    }
    const broken = reset();
    assert.is(await rejection(detect({ '/v1/models': broken })), broken);
  });

  check('is not guessed while the host fails: it may be an Ollama that is starting', async () => {
    for (const code of [500, 502, 503, 504]) {
      for (const models of [MODELS, status(401)]) {
        const thrown = await rejection(detect({ '/api/version': status(code), '/v1/models': models }));
        assert.is(thrown instanceof HttpClientError && thrown.code, `HTTP_${code}`);
      }
    }
  });

  check('is not asked for on after the caller has left', async () => {
    for (const silent of ['/api/version', '/v1/models']) {
      const controller = new AbortController();
      const reason = new Error('left');
      const left = rejection(detect({ [silent]: 'silence' }, controller.signal));
      await Promise.resolve();
      setImmediate(() => controller.abort(reason));
      assert.is(await left, reason, silent);
    }
  });
});

/** A choice whose questions are answered by hand. */
const asking = () => {
  const questions: PromiseWithResolvers<DetectedDialect | undefined>[] = [];
  const choice = createDetectedDialect(() => {
    const question = Promise.withResolvers<DetectedDialect | undefined>();
    questions.push(question);
    return question.promise;
  });
  const answer = (index: number, dialect: Dialect | undefined, isCertain = true) =>
    questions[index]?.resolve(dialect === undefined ? undefined : { dialect, isCertain });
  return { choice, questions, answer };
};

describe('the dialect in force', (check) => {
  check('is the configured one, whatever happens', async () => {
    const choice = createFixedDialect(openai);
    choice.forget();
    assert.is(await choice.current(), openai);
  });

  check('is asked for once by callers at the same moment, and not before one comes', async () => {
    const { choice, questions, answer } = asking();
    assert.is(questions.length, 0);
    const callers = [choice.current(), choice.current(), choice.current()];
    assert.is(questions.length, 1);
    answer(0, ollama);
    assert.equal(
      (await Promise.all(callers)).map((dialect) => dialect?.name),
      ['ollama', 'ollama', 'ollama'],
    );
  });

  check('is asked for again when it was not found', async () => {
    const { choice, questions, answer } = asking();
    const first = choice.current();
    answer(0, undefined);
    assert.is(await first, undefined);
    const second = choice.current();
    assert.is(questions.length, 2);
    answer(1, openai);
    assert.is(await second, openai);
  });

  check('is asked for again when it was only supposed', async () => {
    const { choice, questions, answer } = asking();
    const first = choice.current();
    answer(0, ollama, false);
    assert.is(await first, ollama);
    const second = choice.current();
    assert.is(questions.length, 2);
    answer(1, openai);
    assert.is(await second, openai);
    assert.is(await choice.current(), openai);
  });

  check('is asked for again after a question that failed', async () => {
    const { choice, questions, answer } = asking();
    const callers = [choice.current(), choice.current()];
    const bug = new Error('bug');
    questions[0]?.reject(bug);
    for (const caller of callers) assert.is(await rejection(Promise.resolve(caller)), bug);
    const second = choice.current();
    answer(1, ollama);
    assert.is(await second, ollama);
  });

  check('is not forgotten because of an older question that found nothing', async () => {
    const { choice, questions, answer } = asking();
    const older = choice.current();
    choice.forget();
    const newer = choice.current();
    answer(1, openai);
    assert.is(await newer, openai);
    answer(0, undefined);
    assert.is(await older, undefined);
    assert.is(await choice.current(), openai);
    assert.is(questions.length, 2);
  });
});
