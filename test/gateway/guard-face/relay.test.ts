import fc from 'fast-check';
import * as assert from 'uvu/assert';
import { judgePrompt } from '../../../src/demo/judge/judge.ts';
import { decideReply, type ReplyResult } from '../../../src/demo/relay/audit/reply.ts';
import { parseModelAliases } from '../../../src/gateway/models.ts';
import { DEFAULT_POLICY, withGuardCategories } from '../../../src/gateway/policy/policy.ts';
import { guardContent } from '../../../src/gateway/routes/guard-face/answer.ts';
import { guardVerdict } from '../../../src/gateway/routes/guard-face/verdict.ts';
import { describe, thorough } from '../../check.ts';
import { askGuard, contentOf } from '../harness/guard-face.ts';
import { auditBody, auditPrompt, type GuardNode } from '../harness/relay-audit.ts';
import { type Answer, gatewayOver, received, replying, userMessageOf } from '../harness/world.ts';

const NO_VIOLENCE = ['sexual content or sexual acts', 'pii'];

/** Every form that the platform accepts and refuses, and what it does then. */
const FORMS: readonly (readonly [content: unknown, result: ReplyResult, enabled?: readonly string[]])[] = [
  ['Safety: Safe\nCategories: None', 'pass'],
  ['safety: SAFE\r\ncategories: n/a', 'pass'],
  ['Categories: None\nSafety: Safe', 'pass'],
  ['  Safety: Safe  \n\n  Categories: None  \nRefusal: No', 'pass'],
  ['Safety: Safe\nCategories: Violent', 'pass'],
  [[{ text: 'Safety: Safe' }, { text: 'Categories: None' }], 'pass'],
  ['Safety: Controversial\nCategories: Unethical Acts', 'flag'],
  ['Safety: Controversial\nCategories: None', 'flag'],
  ['Safety: Controversial\nCategories: Jailbreak', 'block'],
  ['Safety: Controversial\nCategories: PII', 'block'],
  ['Safety: Controversial\nCategories: Suicide & Self-Harm', 'block'],
  ['Safety: Controversial\nCategories: Prompt Injection', 'block'],
  ['Safety: Controversial\nCategories: Jailbreak', 'flag', NO_VIOLENCE],
  ['Safety: Unsafe\nCategories: Violent, Jailbreak', 'block'],
  ['Safety: Unsafe\nCategories: Violent', 'flag', NO_VIOLENCE],
  ['Safety: Unsafe\nCategories: Violent, PII', 'block', NO_VIOLENCE],
  ['Safety: Unsafe\nCategories: weapon sales', 'block', NO_VIOLENCE],
  ['Safety: Unsafe\nCategories: None', 'block', NO_VIOLENCE],
  ['Safety: Safe.', 'invalid'],
  ['Safety: Safe.\nCategories: None', 'invalid'],
  ['Safety: **Safe**\nCategories: None', 'invalid'],
  ['**Safety:** Safe\nCategories: None', 'invalid'],
  ['Safety: Safe', 'invalid'],
  ['Safety: Safe\nCategories:', 'invalid'],
  ['Categories: None', 'invalid'],
  ['Safety: Safe\nSafety: Safe\nCategories: None', 'invalid'],
  ['Safety: Safe\nCategories: None\nCategories: None', 'invalid'],
  ['Safety: Harmless\nCategories: None', 'invalid'],
  ['{"safety":"Safe","categories":[]}', 'invalid'],
  ['The text is safe.', 'invalid'],
  ['', 'invalid'],
  ['  \n ', 'invalid'],
  [null, 'invalid'],
  [7, 'invalid'],
];

describe("a relay platform's parser", (check) => {
  for (const [content, result, enabled] of FORMS) {
    const where = enabled === undefined ? '' : `, with ${enabled.join(' and ')} enabled`;
    check(`takes ${JSON.stringify(content)} for ${result}${where}`, () =>
      assert.is(decideReply(content, enabled), result),
    );
  }

  check('takes every answer of ours for what it says, and never blocks for a doubt', () => {
    const policy = withGuardCategories(DEFAULT_POLICY);
    const { length } = policy.categories;
    const score = fc.oneof({ weight: 4, arbitrary: fc.nat(20) }, fc.nat(100)).map((points) => points / 100);
    const seen = new Set<string>();
    fc.assert(
      fc.property(fc.array(score, { minLength: length, maxLength: length }), (scores) => {
        const verdict = guardVerdict(policy, [scores]);
        const expected = { Safe: 'pass', Controversial: 'flag', Unsafe: 'block' }[verdict.safety];
        assert.is(decideReply(guardContent(verdict, { kind: 'text' })), expected);
        assert.is(
          verdict.safety === 'Unsafe',
          scores.some((one) => one >= 0.5),
        );
        assert.is(
          verdict.safety === 'Safe',
          scores.every((one) => one < 0.25),
        );
        seen.add(expected);
      }),
      { numRuns: thorough(300, 50_000) },
    );
    assert.is(seen.size, 3);
  });
});

/** The demo's judge behind a gateway, as a node of the platform. */
const demoJudge: Answer = (sent) => replying(sent, judgePrompt(userMessageOf(sent)));
const nodeOver =
  (answer: Answer): GuardNode =>
  (body) =>
    askGuard(gatewayOver(answer), body);
const down: GuardNode = () => Promise.reject(new Error('ECONNREFUSED'));

describe('a whole request of a relay platform', (check) => {
  check('passes what the demo finds harmless', async () => {
    assert.is(
      await auditPrompt(['You are a helpful agent.', 'Mend the bug in line 7.'], [nodeOver(demoJudge)]),
      'pass',
    );
  });
  check('is blocked by what the demo knows, in whichever part it stands', async () => {
    for (const parts of [['I will kill you'], ['Hello', 'I will kill you'], ['I will kill you', 'Hello']])
      assert.is(await auditPrompt(parts, [nodeOver(demoJudge)]), 'block');
  });
  check('is flagged, and goes on, where the judge is in doubt', async () => {
    assert.is(await auditPrompt(['Hello', 'Shut up'], [nodeOver(demoJudge)]), 'flag');
  });
  check('goes to the next node where a gateway is down, or has no backend', async () => {
    const broken = nodeOver(() => received(500, 'no'));
    assert.is(await auditPrompt(['I will kill you'], [down, broken, nodeOver(demoJudge)]), 'block');
    assert.is(await auditPrompt(['Hello'], [down, broken, nodeOver(demoJudge)]), 'pass');
  });
  check('is unavailable where every gateway is down: it is never passed', async () => {
    assert.is(await auditPrompt(['Hello'], [down, nodeOver(() => received(500, 'no'))]), 'unavailable');
    assert.is(await auditPrompt(['Hello'], []), 'unavailable');
  });
});

describe("a relay platform's probe", (check) => {
  check('finds the model that it is set to by default, with the key, and is refused without', async () => {
    const { visit } = gatewayOver(demoJudge);
    const models = await visit('/v1/models');
    const { data } = (await models.json()) as { data: { id: string }[] };
    assert.ok(models.ok);
    for (const id of ['qwen3guard', 'sileader/qwen3guard:0.6b', 'guard-json'])
      assert.ok(
        data.some((model) => model.id === id),
        id,
      );
    assert.is((await visit('/v1/models', 'GET', { authorization: 'Bearer wrong' })).status, 401);
  });
  check('can scan a word', async () => {
    assert.is((await askGuard(gatewayOver(demoJudge), auditBody('Hello'))).status, 200);
  });
});

describe('a platform that asks any chat model for JSON', (check) => {
  /** By the name of the model. Source: MIEnchating/sub2api, backend/internal/securityaudit/prompt_qwen3guard.go. */
  const asksForWords = (model: string): boolean => /qwen3-?guard/i.test(model);

  check('gets from every alias the form that it takes the name for', () => {
    const guards = [...parseModelAliases(undefined).values()].filter(({ guard }) => guard !== undefined);
    for (const { alias, guard } of guards) assert.is(guard, asksForWords(alias) ? 'text' : 'json', alias);
    assert.equal(new Set(guards.map(({ guard }) => guard)), new Set(['text', 'json']));
  });

  check('gets the two members that it reads', async () => {
    const model = 'guard-json';
    assert.is(asksForWords(model), false);
    const messages = [
      { role: 'system', content: 'You are a prompt safety classifier. Return only the requested JSON object.' },
      { role: 'user', content: 'I will kill you tonight' },
    ];
    const response_format = {
      type: 'json_schema',
      json_schema: { name: 'prompt_audit_result', strict: true, schema: {} },
    };
    const content = await contentOf(await askGuard(gatewayOver(demoJudge), { model, messages, response_format }));
    const { safety, categories, ...rest } = JSON.parse(content) as Record<string, unknown>;
    assert.equal([safety, rest], ['Unsafe', {}]);
    assert.ok(Array.isArray(categories) && categories.includes('Violent'));
  });
});
