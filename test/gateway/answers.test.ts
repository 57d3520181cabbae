import * as assert from 'uvu/assert';
import { CATEGORIES } from '../../src/gateway/policy/categories.ts';
import { describe } from '../check.ts';
import { eachCategory, errorOf, outcomeOf, resultsOf } from './harness/read-answer.ts';
import { type Answer, gatewayOver, judging, nonceOf, replying, shownTextOf, verdictJson } from './harness/world.ts';

/** Finds harassment in whatever holds the word "rude", by so many points as the number in the text says. */
const countingJudge: Answer = (sent) => {
  const points = Number(/rude (\d+)/.exec(shownTextOf(sent))?.[1] ?? 0);
  return replying(sent, verdictJson(nonceOf(sent), { HR: points }));
};

describe('a moderation answer', (check) => {
  check('holds 13 booleans and 13 numbers from 0 to 1, twice', async () => {
    const { ask } = gatewayOver(judging({ HR: 85, HRT: 50, VI: 49, SXM: 100, IL: 1 }));
    const results = await resultsOf(await ask({ input: 'you are rude' }));
    const numbers = {
      harassment: 0.85,
      'harassment/threatening': 0.5,
      violence: 0.49,
      'sexual/minors': 1,
      illicit: 0.01,
    };
    assert.equal(results, [
      {
        flagged: true,
        categories: eachCategory(false, { harassment: true, 'harassment/threatening': true, 'sexual/minors': true }),
        category_scores: eachCategory(0, numbers),
        scores: eachCategory(0, numbers),
        category_applied_input_types: eachCategory(['text']),
      },
    ]);
  });

  for (const { code, name } of CATEGORIES) {
    check(`gives the score of ${name} under its name and no other`, async () => {
      const { ask } = gatewayOver(judging({ [code]: 73 }));
      const [result] = await resultsOf(await ask({ input: 'some text' }));
      assert.equal(result?.scores, eachCategory(0, { [name]: 0.73 }));
      assert.equal(result?.categories, eachCategory(false, { [name]: true }));
      assert.is(result?.flagged, true);
    });
  }

  check('flags at 0.5 and not under it', async () => {
    const { ask } = gatewayOver(countingJudge);
    const results = await resultsOf(await ask({ input: ['rude 49', 'rude 50', 'rude 51'] }));
    assert.equal(
      results.map(({ flagged }) => flagged),
      [false, true, true],
    );
    assert.equal(
      results.map(({ categories }) => categories.harassment),
      [false, true, true],
    );
  });

  check('names the alias that was asked for, and the model behind it in a header', async () => {
    const { ask, calls } = gatewayOver(judging());
    const response = await ask({ model: 'moderation-accurate', input: 'some text' });
    assert.is(response.headers.get('x-moderation-backend-model'), 'gpt-oss:120b');
    assert.match(response.headers.get('x-moderation-policy') ?? '', /^\d{4}-\d\d-\d\d$/);
    assert.is(response.headers.get('x-moderation-cache'), 'miss');
    assert.is(response.headers.get('content-type'), 'application/json');
    const { model, id } = (await response.json()) as { model: string; id: string };
    assert.is(model, 'moderation-accurate');
    assert.match(id, /^modr-\w{20,}$/);
    assert.is((JSON.parse(calls[0]?.body ?? '') as { model: string }).model, 'gpt-oss:120b');
  });

  check('has an id of its own each time', async () => {
    const { ask } = gatewayOver(judging());
    const ids = await Promise.all(
      [1, 2, 3].map(async () => ((await (await ask({ input: 'a' })).json()) as { id: string }).id),
    );
    assert.is(new Set(ids).size, 3);
  });

  for (const model of [undefined, null, 'omni-moderation-latest']) {
    check(`comes from the default alias when the model is ${model}`, async () => {
      const { ask } = gatewayOver(judging());
      const response = await ask({ input: 'some text', ...(model === undefined ? {} : { model }) });
      assert.is(response.headers.get('x-moderation-backend-model'), 'gpt-oss:20b');
      assert.is(((await response.json()) as { model: string }).model, 'omni-moderation-latest');
    });
  }

  check('does not mind fields that no one knows', async () => {
    const { ask } = gatewayOver(judging());
    const body = {
      input: 'some text',
      user: 'u-1',
      stream: true,
      metadata: { a: 1 },
      category_scores: {},
      flagged: false,
    };
    assert.is(await outcomeOf(await ask(body)), '200');
  });

  check('comes without a content type, with a charset, and with a +json type', async () => {
    const { ask } = gatewayOver(judging());
    for (const type of ['application/json; charset=utf-8', 'application/vnd.api+json']) {
      assert.is(await outcomeOf(await ask({ input: 'some text' }, { 'content-type': type })), '200', type);
    }
  });
});

describe('an array of texts', (check) => {
  check('is answered in its order, whichever verdict comes first', async () => {
    const late = Promise.withResolvers<void>();
    const { ask } = gatewayOver(async (sent) => {
      if (shownTextOf(sent) === 'rude 10') await late.promise;
      else if (shownTextOf(sent) === 'rude 30') late.resolve();
      return countingJudge(sent);
    });
    const results = await resultsOf(await ask({ input: ['rude 10', 'rude 20', 'rude 30'] }));
    assert.equal(
      results.map(({ scores }) => scores.harassment),
      [0.1, 0.2, 0.3],
    );
  });

  check('costs one call for each different text', async () => {
    const { ask, calls } = gatewayOver(countingJudge);
    const results = await resultsOf(await ask({ input: ['rude 10', 'rude 20', 'rude 10', 'rude 10'] }));
    assert.equal(
      results.map(({ scores }) => scores.harassment),
      [0.1, 0.2, 0.1, 0.1],
    );
    assert.is(calls.length, 2);
  });

  check('shows each judge one text only', async () => {
    const { ask, calls } = gatewayOver(judging());
    await ask({ input: ['first secret', 'second secret'] });
    assert.equal(calls.map(shownTextOf).sort(), ['first secret', 'second secret']);
    assert.not.ok(calls.some(({ body = '' }) => body.includes('first secret') && body.includes('second secret')));
  });

  check('fails whole when one verdict is missing, and gives up the other calls', async () => {
    const { ask, calls } = gatewayOver((sent) =>
      shownTextOf(sent) === 'bad' ? replying(sent, '{}') : new Promise<never>(() => {}),
    );
    const error = await errorOf(await ask({ input: ['good', 'bad', 'fine'] }));
    assert.is(`${error.status} ${error.code}`, '502 backend_unusable_reply');
    const others = calls.filter((sent) => shownTextOf(sent) !== 'bad');
    assert.is(others.length, 2);
    assert.ok(others.every(({ signal }) => signal.aborted));
  });

  check('is refused whole for one bad text before any call', async () => {
    const { ask, calls } = gatewayOver(judging());
    const error = await errorOf(await ask({ input: ['good', ' \u200b'] }));
    assert.is(`${error.status} ${error.code} ${error.param}`, '400 empty_input input[1]');
    assert.is(calls.length, 0);
  });

  check('of one text has one result', async () => {
    const { ask } = gatewayOver(judging());
    assert.is((await resultsOf(await ask({ input: ['only'] }))).length, 1);
  });

  check('of text parts is one text', async () => {
    const { ask, calls } = gatewayOver(judging());
    const input = [
      { type: 'text', text: 'first line.' },
      { type: 'text', text: 'second line' },
    ];
    assert.is((await resultsOf(await ask({ input }))).length, 1);
    assert.equal(calls.map(shownTextOf), ['first line.\nsecond line']);
  });
});
