// Prints what a verdict costs in tokens, counted with the tokenizer of gpt-oss (o200k) from npm. Compares, never gates.
import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { createBatchPrompts } from '../src/gateway/judge/batch-prompt.ts';
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
const batchPrompts = createBatchPrompts(DEFAULT_POLICY);
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

// What a thousand short texts cost. A backend that caches reads again only what follows the first number of a prompt.
const TEXTS = 1000;
const text = 'The bus was late again this morning, so I missed the first half of the lesson. See you tomorrow?';
const numberOf = (index) => String(482913057261 + index * 7919);
const verdict = verdictOf(({ code }) => code, 0);
const singleUser = prompts.user({ text, part: 1, parts: 1 }, nonce, false);
const batchOf = (size) => Array.from({ length: size }, (_, index) => ({ text, nonce: numberOf(index) }));
const batchSystem = batchPrompts.system;
const beforeNumber = (user) => user.slice(0, user.search(/\d/));

/** One call: all of its prompt, what no cache holds of it, and its answer. */
const callOf = (systemText, user, answer) => {
  const prompt = count(systemText) + count(user);
  return { prompt, uncached: prompt - count(systemText) - count(beforeNumber(user)), output: count(answer) };
};
const single = callOf(system, singleUser, verdict);
const batchCallOf = (size) =>
  callOf(batchSystem, batchPrompts.user(batchOf(size)), `{"verdicts":[${Array(size).fill(verdict).join(',')}]}`);

/** The calls for a thousand texts, of which a share are violations: each sends its whole batch to single calls. */
const costOf = (size, violations) => {
  if (size === 1)
    return {
      calls: TEXTS,
      prompt: TEXTS * single.prompt,
      uncached: TEXTS * single.uncached,
      output: TEXTS * single.output,
    };
  const batches = TEXTS / size;
  const again = TEXTS * (1 - (1 - violations) ** size);
  const one = batchCallOf(size);
  return {
    calls: batches + again,
    prompt: batches * one.prompt + again * single.prompt,
    uncached: batches * one.uncached + again * single.uncached,
    output: batches * one.output + again * single.output,
  };
};

console.log(`\n${TEXTS} texts of ${count(text)} tokens: thousands of tokens, thinking not included`);
console.log(
  `${'mode'.padEnd(34)}${['calls', 'prompt', 'uncached', 'output'].map((name) => name.padStart(10)).join('')}`,
);
for (const violations of [0, 0.02, 0.1]) {
  for (const size of [1, 4, 8, 16]) {
    if (size === 1 && violations > 0) continue;
    const { calls, ...tokens } = costOf(size, violations);
    const share = violations === 0 ? '' : `, ${violations * 100} % violations`;
    const name = size === 1 ? 'one by one' : `JUDGE_BATCH=${size}${share}`;
    const cells = [Math.round(calls), ...Object.values(tokens).map((value) => Math.round(value / 1000))];
    console.log(`${name.padEnd(34)}${cells.map((cell) => String(cell).padStart(10)).join('')}`);
  }
}
