import * as assert from 'uvu/assert';
import { CATEGORY_NAMES } from '../../../src/gateway/policy/categories.ts';
import { describe } from '../../check.ts';
import { askGuard, contentOf, guarding, isGuardCall } from '../harness/guard-face.ts';
import { errorOf } from '../harness/read-answer.ts';
import { type Answer, gatewayOver, judging, received, shownTextOf } from '../harness/world.ts';

/** What the platform's forks ask of any chat model. Source: MIEnchating/sub2api, backend/internal/securityaudit and service. */
const SCANNERS = [
  'violent',
  'non_violent_illegal_acts',
  'sexual_content_or_sexual_acts',
  'pii',
  'suicide_and_self_harm',
  'unethical_acts',
  'politically_sensitive_topics',
  'copyright_violation',
  'jailbreak',
];
const schema = (properties: object) => ({
  type: 'json_schema',
  json_schema: { name: 'result', strict: true, schema: { type: 'object', additionalProperties: false, properties } },
});
const AUDIT = schema({
  safety: { type: 'string', enum: ['Safe', 'Controversial', 'Unsafe'] },
  categories: { type: 'array', items: { type: 'string', enum: SCANNERS }, uniqueItems: true },
});
const number = { type: 'number', minimum: 0, maximum: 1 };
const scoresOf = (names: readonly string[]) => ({
  flagged: { type: 'boolean' },
  category_scores: { type: 'object', properties: Object.fromEntries(names.map((name) => [name, number])) },
});
const SCORES = schema(scoresOf(CATEGORY_NAMES));

const INSTRUCTIONS = { role: 'system', content: 'You are a safety classifier.' };
const asking = (response_format: unknown, content: unknown = 'some text', model = 'moderation-fast') => ({
  model,
  messages: [INSTRUCTIONS, { role: 'user', content }],
  response_format,
});
const said = async (answer: Answer, response_format: unknown, model?: string): Promise<unknown> =>
  JSON.parse(await contentOf(await askGuard(gatewayOver(answer), asking(response_format, 'some text', model))));
/** A backend for both kinds of judging. */
const both: (scores?: Readonly<Record<string, unknown>>) => Answer = (scores) => (sent) =>
  (isGuardCall(sent) ? guarding(scores) : judging(scores))(sent);

describe('a JSON schema in a chat for the guard face', (check) => {
  for (const model of ['moderation-fast', 'omni-moderation-latest', 'qwen3guard', 'guard-json']) {
    check(`gets safety and categories by the names that it lists (${model})`, async () => {
      for (const [scores, expected] of [
        [{}, { safety: 'Safe', categories: [] }],
        [{ HR: 30 }, { safety: 'Controversial', categories: ['unethical_acts'] }],
        [
          { JB: 90, VI: 90 },
          { safety: 'Unsafe', categories: ['violent', 'jailbreak'] },
        ],
        [
          { SH: 90, IL: 90, SX: 90, PD: 90, PO: 90, CP: 90 },
          { safety: 'Unsafe', categories: SCANNERS.slice(1, 5).concat(SCANNERS.slice(6, 8)) },
        ],
      ] as const)
        assert.equal(await said(guarding(scores), AUDIT, model), expected);
    });

    check(`gets the scores of the 13, and whether one is over its threshold (${model})`, async () => {
      for (const [scores, flagged] of [
        [{}, false],
        [{ VI: 49 }, false],
        [{ VI: 90 }, true],
      ] as const) {
        const { category_scores, ...rest } = (await said(judging(scores), SCORES, model)) as {
          category_scores: Record<string, number>;
        };
        assert.equal(rest, { flagged });
        assert.equal(Object.keys(category_scores), CATEGORY_NAMES);
        assert.is(category_scores.violence, ('VI' in scores ? scores.VI : 0) / 100);
      }
    });
  }

  check('leaves out categories that it does not list: how safe the text is stays', async () => {
    const format = schema({ safety: {}, categories: { type: 'array', items: { enum: ['pii'] } } });
    assert.equal(await said(guarding({ VI: 90, PD: 90 }), format), { safety: 'Unsafe', categories: ['pii'] });
    assert.equal(await said(guarding({ VI: 90 }), format), { safety: 'Unsafe', categories: [] });
    const open = schema({ safety: {}, categories: { type: 'array' } });
    assert.equal(await said(guarding({ VI: 90 }), open), { safety: 'Unsafe', categories: ['Violent'] });
  });

  check('leaves its instructions unjudged, and nothing else', async () => {
    for (const format of [AUDIT, SCORES]) {
      const world = gatewayOver(both());
      const { messages, ...body } = asking(format, 'one');
      await contentOf(await askGuard(world, { ...body, messages: [...messages, { role: 'system', content: 'two' }] }));
      assert.equal(world.calls.map(shownTextOf).sort(), ['one', 'two']);
    }
  });

  check('shares the verdicts of /v1/moderations where it asks for scores', async () => {
    const world = gatewayOver(judging({ VI: 90 }));
    await world.ask({ model: 'moderation-fast', input: 'some text' });
    const answer = await askGuard(world, asking(SCORES));
    assert.is(answer.headers.get('x-moderation-cache'), 'hit');
    assert.is(world.calls.length, 1);
  });
});

/** Formats that ask for something else, or for nothing that could be told apart. */
const OTHER_FORMATS: Readonly<Record<string, unknown>> = {
  'no format': undefined,
  'JSON without a schema': { type: 'json_object' },
  'a text': { type: 'text' },
  'flagged and confidence': schema({ flagged: {}, confidence: {} }),
  'a member more': schema({ safety: {}, categories: {}, reason: {} }),
  'a member less': schema({ safety: {} }),
  'scores of other categories': schema(scoresOf([...CATEGORY_NAMES.slice(1), 'spam'])),
  'scores of one category less': schema(scoresOf(CATEGORY_NAMES.slice(1))),
  'scores of a category more': schema(scoresOf([...CATEGORY_NAMES, 'spam'])),
  'a schema that is none': { type: 'json_schema', json_schema: { schema: 7 } },
};

describe('a chat for the guard face that names no form of ours', (check) => {
  for (const [name, format] of Object.entries(OTHER_FORMATS))
    check(`is answered in the form of its alias, or refused: ${name}`, async () => {
      const error = await errorOf(await askGuard(gatewayOver(both()), asking(format)));
      assert.equal([error.status, error.code], [400, 'no_guard_face']);
      const text = await contentOf(await askGuard(gatewayOver(both()), asking(format, 'a', 'qwen3guard')));
      assert.is(text, 'Safety: Safe\nCategories: None');
      const json = await contentOf(await askGuard(gatewayOver(both()), asking(format, 'a', 'guard-json')));
      assert.is(json, '{"safety":"Safe","categories":[]}');
    });
});

describe('a chat that asks for scores and has no verdict', (check) => {
  const image = [{ type: 'image_url', image_url: { url: 'x' } }];
  const ways: Readonly<Record<string, readonly [answer: Answer, content: unknown, reason: string]>> = {
    'a backend that is down': [() => received(500, 'no'), 'some text', 'backend_error'],
    'an unusable reply': [guarding(), 'some text', 'backend_unusable_reply'],
    'an image': [both(), image, 'unjudged_text'],
  };
  for (const [name, [answer, content, reason]] of Object.entries(ways)) {
    check(`is an error, and flagged where the operator has chosen so: ${name}`, async () => {
      const error = await errorOf(await askGuard(gatewayOver(answer), asking(SCORES, content)));
      assert.equal([error.status >= 500, error.code], [true, reason]);
      const variables = { NO_VERDICT: 'flag' };
      const flagged = await askGuard(gatewayOver(answer, { variables }), asking(SCORES, content));
      assert.is(flagged.headers.get('x-moderation-no-verdict'), reason);
      const { flagged: isFlagged, category_scores } = JSON.parse(await contentOf(flagged)) as {
        flagged: boolean;
        category_scores: Record<string, number>;
      };
      assert.equal([isFlagged, new Set(Object.values(category_scores))], [true, new Set([1])]);
      const audit = await errorOf(await askGuard(gatewayOver(answer, { variables }), asking(AUDIT, image)));
      assert.is(audit.code, 'unjudged_text', 'an audit asks its next node on an error');
    });
  }
});
