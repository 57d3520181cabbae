import * as assert from 'uvu/assert';
import { createVerdictRequester } from '../../src/eval/ask.ts';
import { describe, rejection } from '../check.ts';
import { createManualClock, moderationOf, settle } from './world.ts';

const KEY = 'sk-secret';
const never = new AbortController().signal;
const refusing = (code: string) => () =>
  Promise.reject(Object.assign(new TypeError('fetch failed'), { cause: Object.assign(new Error(), { code }) }));
const answering = (...answers: readonly (() => Response | Promise<Response>)[]) => {
  const clock = createManualClock();
  const calls: { url: string; init: RequestInit }[] = [];
  const fetcher = async (url: unknown, init: unknown) => {
    calls.push({ url: String(url), init: init as RequestInit });
    return (answers[calls.length - 1] ?? answers.at(-1))!();
  };
  const ask = createVerdictRequester({
    url: 'http://gate',
    key: KEY,
    model: 'm',
    timeoutMs: 1000,
    fetcher: fetcher as typeof fetch,
    clock,
  });
  return { ask: (text = 'words', signal = never) => ask(text, signal), calls, clock };
};
const ok =
  (body: unknown = moderationOf({ hate: 0.9 })) =>
  () =>
    Response.json(body);
const no =
  (status: number, headers: Record<string, string> = {}, error: object = { code: 'some_code' }) =>
  () =>
    Response.json({ error }, { status, headers });
const message = async (promise: Promise<unknown>) => ((await rejection(promise)) as Error).message;

describe('asking a gateway', (check) => {
  check('a text is posted in the shape of OpenAI with the key as bearer', async () => {
    const { ask, calls } = answering(ok());
    const answer = await ask('words');
    assert.ok(answer.kind === 'verdict' && answer.verdict.scores.hate === 0.9);
    assert.equal(answer.kind === 'verdict' && answer.verdict.categories, ['hate']);
    assert.is(calls[0]?.url, 'http://gate/v1/moderations');
    assert.equal(JSON.parse(String(calls[0]?.init.body)), { model: 'm', input: 'words' });
    assert.is(new Headers(calls[0]?.init.headers).get('authorization'), `Bearer ${KEY}`);
  });

  check('an answer that is flagged without a verdict is an error, and no verdict', async () => {
    const headers = { 'x-moderation-no-verdict': 'backend_error' };
    const answer = await answering(() => Response.json(moderationOf({ hate: 1 }), { headers })).ask();
    assert.equal(answer, { kind: 'error', code: 'no_verdict (backend_error)' });
  });

  check(
    'a verdict says where it came from and how its scores came about, where the gateway says so in words of its own',
    async () => {
      const saidWith = async (cache: string, type: string) => {
        const headers = { 'x-moderation-cache': cache, 'x-moderation-score-type': type };
        const answer = await answering(() => Response.json(moderationOf(), { headers })).ask();
        return answer.kind === 'verdict' && [answer.cache, answer.scoreType];
      };
      assert.equal(await saidWith('hit', 'binary, judged'), ['hit', 'binary, judged']);
      assert.equal(await saidWith('miss', 'probability'), ['miss', 'probability']);
      assert.equal(await saidWith('partial', '<b>'), [undefined, undefined]);
    },
  );

  check('a verdict says who gave it, as far as the gateway says it', async () => {
    const gatewayOf = async (headers: Record<string, string>) => {
      const answer = await answering(() => Response.json(moderationOf(), { headers })).ask();
      return answer.kind === 'verdict' && answer.gateway;
    };
    assert.equal(await gatewayOf({ 'x-moderation-backend-model': 'big', 'x-moderation-policy': '7' }), {
      url: 'http://gate',
      backendModel: 'big',
      policy: '7',
    });
    assert.equal(await gatewayOf({}), { url: 'http://gate', backendModel: null, policy: null });
  });

  check('a text that only a category of the operator flags is flagged', async () => {
    const [result] = moderationOf().results;
    const x_categories = { 'weapon sales': { flagged: true, score: 0.9 } };
    const answer = await answering(ok({ results: [{ ...result, flagged: true, x_categories }] })).ask();
    assert.ok(answer.kind === 'verdict' && answer.verdict.flagged && answer.verdict.categories.length === 0);
  });

  check('an answer that lacks anything is an error, never clean', async () => {
    const whole = moderationOf();
    const [result] = whole.results;
    const { hate: _score, ...scores } = result!.category_scores;
    const { hate: _category, ...categories } = result!.categories;
    const wrong: unknown[] = [
      '',
      {},
      { results: [] },
      { results: [result, result] },
      { results: [{ ...result, category_scores: scores }] },
      { results: [{ ...result, categories }] },
      { results: [{ ...result, category_scores: { ...scores, hate: '0' } }] },
      { results: [{ ...result, category_scores: { ...scores, hate: 1.5 } }] },
      { results: [{ ...result, categories: { ...categories, hate: null } }] },
      { results: [{ ...result, flagged: true }] },
    ];
    for (const body of wrong) {
      assert.equal(await answering(ok(body)).ask(), { kind: 'error', code: 'unusable_answer' }, JSON.stringify(body));
    }
    assert.equal(await answering(() => new Response('<html>')).ask(), { kind: 'error', code: 'unusable_answer' });
  });

  check(
    'an error is named by its status and code, and by its status alone when the code is not fit to keep',
    async () => {
      assert.equal(await answering(no(502)).ask(), { kind: 'error', code: '502 some_code' });
      assert.equal(await answering(no(400, {}, { code: 'a text\nof the user' })).ask(), { kind: 'error', code: '400' });
      assert.equal(await answering(() => new Response('<html>', { status: 500 })).ask(), {
        kind: 'error',
        code: '500',
      });
      assert.equal(await answering(() => new Response(null, { status: 302 })).ask(), { kind: 'error', code: '302' });
    },
  );

  check('429 and 503 say how long to wait, in seconds or as a date; other errors are final', async () => {
    const waitOf = async (status: number, headers: Record<string, string>) => {
      const { ask, clock } = answering(no(status, headers));
      const answer = await ask();
      return answer.kind === 'error' ? { waitMs: answer.retryAfterMs, clock } : undefined;
    };
    assert.is((await waitOf(429, { 'retry-after': '7' }))?.waitMs, 7000);
    assert.is((await waitOf(503, { 'retry-after': '0' }))?.waitMs, 0);
    assert.is((await waitOf(503, { 'retry-after': '-5' }))?.waitMs, 0);
    assert.is((await waitOf(429, {}))?.waitMs, 1000);
    assert.is((await waitOf(429, { 'retry-after': 'soon' }))?.waitMs, 1000);
    assert.is((await waitOf(429, { 'retry-after': '86400' }))!.waitMs, undefined);
    assert.is((await waitOf(500, { 'retry-after': '7' }))!.waitMs, undefined);
    const now = createManualClock().now();
    assert.is((await waitOf(429, { 'retry-after': new Date(now + 9000).toUTCString() }))?.waitMs, 9000);
  });

  check('a refused key ends the run, whenever it comes, and is not shown', async () => {
    const { ask } = answering(ok(), no(401, {}, { code: 'invalid_api_key', message: `Wrong key ${KEY}` }));
    await ask();
    const outputText = await message(ask());
    assert.match(outputText, 'http://gate/v1/moderations refused the key (401)');
    assert.not.match(outputText, KEY);
  });

  check('a failed connection ends the run until something has answered, and is an error afterwards', async () => {
    const fail = refusing('ECONNREFUSED');
    assert.match(await message(answering(fail).ask()), 'Cannot reach http://gate/v1/moderations: ECONNREFUSED');
    const { ask } = answering(no(500), fail);
    await ask();
    assert.equal(await ask(), { kind: 'error', code: 'ECONNREFUSED', isUnreachable: true });
  });

  check('a 404 ends the run until something has answered, with what the gateway says about it', async () => {
    const unknown = no(404, {}, { code: 'model_not_found', message: `Valid models: a, b\u001b[2J ${KEY}` });
    const outputText = await message(answering(unknown).ask());
    assert.match(outputText, '404 model_not_found');
    assert.match(outputText, 'Valid models: a, b');
    assert.not.match(outputText, KEY);
    assert.not.match(outputText, '\u001b');
    const { ask } = answering(ok(), unknown);
    await ask();
    assert.equal(await ask(), { kind: 'error', code: '404 model_not_found' });
  });

  check('an answer that does not come in time is an error', async () => {
    const clock = createManualClock();
    const hanging = (_url: unknown, init: { signal: AbortSignal }) =>
      new Promise<Response>((_, reject) => init.signal.addEventListener('abort', () => reject(init.signal.reason)));
    const ask = createVerdictRequester({
      url: 'http://gate',
      key: KEY,
      model: 'm',
      timeoutMs: 1000,
      fetcher: hanging as unknown as typeof fetch,
      clock,
    });
    let answer: unknown;
    const asked = ask('words', never).then((value) => {
      answer = value;
    });
    clock.advance(999);
    await settle();
    assert.is(answer, undefined);
    clock.advance(1);
    await asked;
    assert.equal(answer, { kind: 'error', code: 'timeout' });
  });
});
