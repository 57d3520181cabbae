import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import * as assert from 'uvu/assert';
import { GRANITE_GUARDIAN } from '../../src/gateway/judge/guard-model/granite-guardian.ts';
import { LLAMA_GUARD } from '../../src/gateway/judge/guard-model/llama-guard.ts';
import { QWEN3GUARD } from '../../src/gateway/judge/guard-model/qwen3guard.ts';
import { SHIELDGEMMA } from '../../src/gateway/judge/guard-model/shieldgemma.ts';
import { type GuardModelKind, TAXONOMIES } from '../../src/gateway/judge/guard-model/taxonomy.ts';
import { DEFAULT_POLICY, withGuardCategories } from '../../src/gateway/policy/policy.ts';
import { describe } from '../check.ts';
import { GUARD_MODEL_KINDS, GUARD_MODELS } from '../gateway/harness/guard-models.ts';

const page = readFileSync(resolve(import.meta.dirname, '../../docs/moderation-gateway.md'), 'utf8');
const section = page.slice(
  page.indexOf('### Guard models'),
  page.indexOf('\n### ', page.indexOf('### Guard models') + 5),
);
const rows = section
  .split('\n')
  .filter((line) => line.startsWith('| '))
  .map((line) => line.slice(2, -2).split(' | '));
const FORMS = {
  qwen3guard: QWEN3GUARD,
  'llama-guard': LLAMA_GUARD,
  shieldgemma: SHIELDGEMMA,
  'granite-guardian': GRANITE_GUARDIAN,
};

/** What the table says of a category and a kind. */
const coverageText = (kind: GuardModelKind, name: string): string => {
  const { codes, covers } = TAXONOMIES[kind];
  const found = Object.keys(codes).filter((code) => codes[code]?.some((category) => category === name));
  if (found.length === 0) return '-';
  const word = covers.some((category) => category === name) ? 'yes' : 'raises';
  return `${word} (${found.join(', ')})`;
};

describe('the page on guard models', (check) => {
  check('says of each category who covers it, and by which codes', () => {
    const named = withGuardCategories(DEFAULT_POLICY).categories.map(({ name }) => name);
    for (const name of named) {
      const told = rows.find(([first]) => first === `\`${name}\``)?.slice(1) ?? GUARD_MODEL_KINDS.map(() => '-');
      const expected = GUARD_MODEL_KINDS.map((kind) => coverageText(kind, name));
      // Guidelines whose code is the category are not named.
      assert.equal(
        told.map((cell, index) => (cell === 'yes' && expected[index]?.startsWith('yes') ? expected[index] : cell)),
        expected,
        name,
      );
    }
  });
  check('says how many calls a text takes, and how long a text one call judges', () => {
    for (const kind of GUARD_MODEL_KINDS) {
      const { questions, contextTokens, promptTokens, outputTokens } = FORMS[kind];
      const [, , calls = '', chars] = rows.find(([first]) => first === `\`${kind}\``) ?? [];
      assert.is(Number.parseInt(calls, 10), questions(GUARD_MODELS[kind].model).length, kind);
      assert.is(Number(chars), Math.floor((contextTokens - promptTokens - outputTokens) / 3), kind);
    }
  });
});
