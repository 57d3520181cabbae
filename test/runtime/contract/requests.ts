import * as assert from 'uvu/assert';
import type { Check } from '../../check.ts';
import { KEY, moderationOf, refusalOf, sendPieces } from '../client.ts';
import { BACKEND_KEYS, BODY_LIMIT_BYTES, type Worlds } from './worlds.ts';

const CATEGORIES = 13;

/** What becomes of a request while the backend is well: a verdict, or a refusal that says why. */
export const requestsContract = (check: Check, { main, ask, get, shared }: Worlds): void => {
  check('flags what is harmful and passes what is not, with all 13 scores', async () => {
    const harmful = await ask({ model: 'moderation-fast', input: 'I will kill you' });
    assert.is(harmful.status, 200, harmful.text);
    assert.is(harmful.headers.get('content-type'), 'application/json');
    assert.is(harmful.headers.get('x-moderation-backend-model'), 'demo-judge');
    assert.is(harmful.headers.get('x-moderation-cache'), 'miss');
    const { id, model, results } = moderationOf(harmful);
    assert.match(id, /^modr-\w/);
    assert.is(model, 'moderation-fast');
    assert.is(results.length, 1);
    assert.is(results[0]?.flagged, true);
    assert.is(results[0]?.categories.violence, true);
    assert.is(results[0]?.category_scores.violence, 0.95);
    assert.is(Object.keys(results[0]?.category_scores ?? {}).length, CATEGORIES);
    assert.equal(results[0]?.scores, results[0]?.category_scores);
    const harmless = await ask({ model: 'moderation-fast', input: 'How do I kill a zombie process?' });
    assert.is(moderationOf(harmless).results[0]?.flagged, false);
  });

  check('judges each text of a list, in order, and takes no model for the default', async () => {
    const { status, text } = await ask({ input: ['good morning', 'I will kill you', 'good night'] });
    assert.is(status, 200, text);
    const { model, results } = moderationOf({ status, text, headers: new Headers() });
    assert.is(model, 'omni-moderation-latest');
    assert.equal(
      results.map(({ flagged }) => flagged),
      [false, true, false],
    );
  });

  check('answers as a guard model does, in one piece and as a stream, and never safe without a verdict', async () => {
    const guard = (content: string, more: object = {}) =>
      get('/v1/chat/completions', {
        method: 'POST',
        headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'sileader/qwen3guard:0.6b', messages: [{ role: 'user', content }], ...more }),
      });
    const said = async (content: string): Promise<string> => {
      const { choices } = JSON.parse((await guard(content)).text) as { choices: { message: { content: string } }[] };
      return choices[0]?.message.content ?? '';
    };
    assert.is(await said('I will kill you'), 'Safety: Unsafe\nCategories: Unethical Acts, Violent');
    assert.is(await said('How do I kill a zombie process?'), 'Safety: Safe\nCategories: None');
    const streamed = await guard('I will kill you', { stream: true });
    assert.is(streamed.headers.get('content-type'), 'text/event-stream');
    assert.match(
      streamed.text,
      /"content":"Safety: Unsafe\\nCategories: Unethical Acts, Violent"[\s\S]*data: \[DONE\]\n\n$/,
    );
    const unusable = await guard('please answer nonsense');
    assert.equal([unusable.status, refusalOf(unusable).code], [502, 'backend_unusable_reply']);
  });

  check('answers the same text from memory', async () => {
    await ask({ input: 'twice the same' });
    await shared();
    assert.is((await ask({ input: 'twice the same' })).headers.get('x-moderation-cache'), 'hit');
  });

  check('refuses anyone who has no gateway key, a wrong one or a backend key', async () => {
    const wrong: Readonly<Record<string, string>>[] = [
      { authorization: '' },
      { authorization: 'Bearer wrong' },
      { authorization: KEY },
      { authorization: `Bearer ${KEY}, Bearer ${KEY}` },
      { authorization: `Bearer ${BACKEND_KEYS[0]}` },
    ];
    for (const headers of wrong) {
      const answer = await ask({ input: 'x' }, headers);
      assert.is(answer.status, 401);
      assert.is(answer.headers.get('www-authenticate'), 'Bearer');
      assert.is(refusalOf(answer).code, 'invalid_api_key');
    }
  });

  check('says what is wrong with a request, and where', async () => {
    const wrong = [
      ['{', 'invalid_json', null],
      ['[]', 'invalid_type', null],
      ['{}', 'missing_input', 'input'],
      ['{"input":[]}', 'empty_input', 'input'],
      ['{"input":""}', 'empty_input', 'input'],
      ['{"input":"\\u200b"}', 'empty_input', 'input'],
      ['{"input":7}', 'invalid_type', 'input'],
      ['{"input":["a",7]}', 'invalid_type', 'input[1]'],
    ] as const;
    for (const [body, code, param] of wrong) {
      const answer = await ask(body);
      assert.is(answer.status, 400, body);
      assert.equal([refusalOf(answer).code, refusalOf(answer).param], [code, param], body);
    }
  });

  check('names the models it has to anyone who asks for another', async () => {
    const answer = await ask({ model: 'gpt-5', input: 'x' });
    assert.is(answer.status, 404);
    assert.is(refusalOf(answer).code, 'model_not_found');
    assert.match(refusalOf(answer).message, 'moderation-fast');
  });

  check('leads back from a wrong path, a doubled /v1 and a wrong method', async () => {
    const nowhere = await get('/v1/nowhere');
    assert.is(nowhere.status, 404);
    assert.match(refusalOf(nowhere).message, 'POST /v1/moderations');
    const doubled = await get('/v1/v1/moderations', { method: 'POST', body: '{}' });
    assert.is(doubled.status, 404);
    assert.match(refusalOf(doubled).message, 'the base URL must not end in /v1');
    const wrongMethod = await get('/v1/moderations');
    assert.is(wrongMethod.status, 405);
    assert.is(wrongMethod.headers.get('allow'), 'POST');
    assert.is((await get('/health', { method: 'DELETE' })).headers.get('allow'), 'GET, HEAD');
  });

  check('takes a body without a content type for JSON, and no other content type', async () => {
    const { status } = await ask({ input: 'good morning' }, { 'content-type': 'application/json; charset=utf-8' });
    assert.is(status, 200);
    const answer = await ask('input=x', { 'content-type': 'application/x-www-form-urlencoded' });
    assert.is(answer.status, 415);
    assert.is(refusalOf(answer).code, 'unsupported_media_type');
  });

  for (const framing of ['declared', 'chunked'] as const) {
    check(`lets each of ten clients read why its ${framing} body of some size is not wanted`, async () => {
      const { gateway } = await main();
      for (const [key, status, connection] of [
        [KEY, 400, 'keep-alive'],
        [KEY, 400, 'close'],
        ['wrong', 401, 'close'],
      ] as const) {
        const sending = { framing, pieces: 10, pieceBytes: 30_000, key, connection };
        const seen = await Promise.all(Array.from({ length: 10 }, () => sendPieces(gateway.address, sending)));
        assert.equal(
          seen,
          Array.from({ length: 10 }, () => status),
        );
      }
    });
  }

  check('takes a body of exactly the limit and not one of a byte more', async () => {
    const bodyOf = (bytes: number) => `{"input":"good morning"${' '.repeat(bytes - 24)}}`;
    assert.is((await ask(bodyOf(BODY_LIMIT_BYTES))).status, 200);
    const answer = await ask(bodyOf(BODY_LIMIT_BYTES + 1));
    assert.is(answer.status, 400);
    assert.is(refusalOf(answer).code, 'body_too_large');
  });
};
