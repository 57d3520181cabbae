// Prints what a verdict costs in tokens, counted with the tokenizer of gpt-oss (o200k) from npm. Compares, never gates.
import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { createJudgePrompts } from '../src/gateway/judge/prompt.ts';
import { CATEGORIES } from '../src/gateway/policy/categories.ts';
import { DEFAULT_POLICY } from '../src/gateway/policy/policy.ts';
import { BOUNDARIES, createInstruction, DEFINITIONS } from '../src/gateway/policy/policy-text.ts';

const count = (text) => encode(text).length;
const nonce = '482913057261';
const verdictOf = (keyOf, score) =>
  JSON.stringify({
    ...Object.fromEntries(CATEGORIES.map((category) => [keyOf(category), score])),
    word: score < 50 ? 'under' : 'over',
    nonce,
  });

const policy = [
  createInstruction(CATEGORIES.length),
  ...Object.entries(DEFINITIONS).map(([code, text]) => `${code}: ${text}`),
  BOUNDARIES,
].join('\n');
const prompts = createJudgePrompts(DEFAULT_POLICY);
const { system } = prompts;
const around = prompts.user({ text: '', part: 1, parts: 1 }, nonce, false);
const rows = [
  ['policy text and definitions', count(policy)],
  ['system message (policy, names, output rule)', count(system)],
  ['user message around the text', count(around)],
  ['prompt without the text', count(system) + count(around)],
  ['verdict, all scores of one digit', count(verdictOf(({ code }) => code, 0))],
  ['verdict, all scores of two digits', count(verdictOf(({ code }) => code, 85))],
  ['verdict, all scores of three digits', count(verdictOf(({ code }) => code, 100))],
  ['the same verdict under full category names', count(verdictOf(({ name }) => name, 0))],
];
for (const [name, tokens] of rows) console.log(`${String(tokens).padStart(6)}  ${name}`);
