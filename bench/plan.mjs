// A plan on paper: what a number of verdicts a second takes. Prints the arithmetic, with its inputs and where each is from.
// node bench/plan.mjs --verdicts 20000 --cached 0.6: with other numbers. --markdown: as docs/scale.md has it.
import { pathToFileURL } from 'node:url';

const H100 = 'https://docs.gpustack.ai/latest/performance-lab/gpt-oss-20b/h100';

/** Every input: its value, its unit, and where it is from: measured here, published, or assumed. */
export const INPUTS = {
  verdicts: [1_000_000, 'verdicts a second', 'wanted'],
  cached: [0.3, 'share found in a cache', 'assumed; 0.91 was measured for chunks of an agent’s growing prompt'],
  textTokens: [150, 'tokens of a text', 'assumed'],
  promptTokens: [1105, 'tokens of a prompt without its text', 'measured: npm run bench:tokens'],
  prefixTokens: [849, 'of them the same in each prompt', 'measured: npm run bench:tokens'],
  verdictTokens: [71, 'tokens of a verdict', 'measured: npm run bench:tokens'],
  thinkingTokens: [60, 'tokens of thinking, at effort low', 'assumed'],
  judgeTokens: [33_150, 'tokens a second of one H100, gpt-oss-20b, 2000 in and 100 out', `published: ${H100}`],
  writtenCost: [
    2.87,
    'tokens that it reads in the time of one that it writes',
    'calculated: that rate, and 19,129 for ShareGPT on the same page, of which 47 % is written (assumed)',
  ],
  guardPromptTokens: [200, 'tokens of a guard model’s template without the text', 'assumed'],
  guardTokens: [32_612, 'tokens a second of one H100, a model of that size, 128 in and 4 out', `published: ${H100}`],
  guardVerdictTokens: [8, 'tokens of a guard model’s verdict', 'assumed'],
  inDoubt: [
    0.05,
    'share that a guard model leaves to the judge: with `clears` for every category that it does not cover; else 1',
    'assumed',
  ],
  uncachedMicros: [100, 'µs of a gateway’s core for an uncached verdict', 'measured: npm run bench'],
  cachedMicros: [50, 'µs for a cached one', 'measured: npm run bench'],
  redisLimitMicros: [
    5.3,
    'µs of Redis’ core for a rate limit',
    'measured: INFO of a Redis 7 over 100,000 of each, 64 at a time',
  ],
  redisFindMicros: [1.6, 'µs for looking up a verdict: GET, and PTTL if it is found', 'measured the same way'],
  redisStoreMicros: [2, 'µs for storing one', 'measured the same way'],
  load: [0.5, 'share of a core or a card that is planned for', 'assumed'],
};

/** What the inputs take: rows of a name, the formula, and its result. */
export const planOf = (given) => {
  const n = Object.fromEntries(Object.entries(INPUTS).map(([name, [value]]) => [name, given[name] ?? value]));
  const judged = n.verdicts * (1 - n.cached);
  const read = n.promptTokens + n.textTokens;
  const written = n.verdictTokens + n.thinkingTokens;
  // The published rate counts 2000 tokens read and 100 written alike.
  const readTokens = (n.judgeTokens * (2000 + 100 * n.writtenCost)) / 2100;
  const whole = read + n.writtenCost * written;
  const afterPrefix = whole - n.prefixTokens;
  const guard = n.guardPromptTokens + n.textTokens + n.guardVerdictTokens;
  const cards = (each, tokens, rate) => (each * tokens) / rate / n.load;
  const gatewayMicros = (1 - n.cached) * n.uncachedMicros + n.cached * n.cachedMicros;
  const redisMicros = n.redisLimitMicros + n.redisFindMicros + (1 - n.cached) * n.redisStoreMicros;
  return [
    ['judged a second', 'verdicts x (1 - cached)', judged],
    ['tokens read for a judgement', 'promptTokens + textTokens', read],
    ['tokens written for a judgement', 'verdictTokens + thinkingTokens', written],
    ['tokens a second that an H100 reads', 'judgeTokens x (2000 + 100 x writtenCost) / 2100', readTokens],
    [
      'H100s, the judge alone',
      'judged x (tokens read + writtenCost x tokens written) / tokens that an H100 reads / load',
      cards(judged, whole, readTokens),
    ],
    [
      'H100s, with the prefix cached',
      'the same with prefixTokens less to read',
      cards(judged, afterPrefix, readTokens),
    ],
    [
      'H100s, a guard model first, with `clears`',
      'judged x guard tokens / guardTokens / load + inDoubt x the row with the prefix cached',
      cards(judged, guard, n.guardTokens) + n.inDoubt * cards(judged, afterPrefix, readTokens),
    ],
    [
      'H100s, a guard model first, without `clears`',
      'judged x guard tokens / guardTokens / load + the row with the prefix cached',
      cards(judged, guard, n.guardTokens) + cards(judged, afterPrefix, readTokens),
    ],
    [
      'gateway cores',
      'verdicts x ((1 - cached) x uncachedMicros + cached x cachedMicros) / 1,000,000 / load',
      (n.verdicts * gatewayMicros) / 1e6 / n.load,
    ],
    [
      'Redis cores',
      'verdicts x (redisLimitMicros + redisFindMicros + (1 - cached) x redisStoreMicros) / 1,000,000 / load',
      (n.verdicts * redisMicros) / 1e6 / n.load,
    ],
    [
      'requests a second of one gateway key',
      '1,000,000 / redisLimitMicros x load',
      (1e6 / n.redisLimitMicros) * n.load,
    ],
  ];
};

/** A number as a reader takes it in: three digits that count, whole from 10 on. */
export const shown = (value) =>
  (value < 10 ? Number(value.toPrecision(2)) : Math.round(Number(value.toPrecision(3)))).toLocaleString('en-US');

/** The plan by the defaults, as two tables of a page. */
export const planMarkdown = () =>
  [
    '| what it takes | | how it is calculated |',
    '|---|---|---|',
    ...planOf({}).map(([name, formula, value]) => `| ${name} | ${shown(value)} | ${formula} |`),
    '',
    '| input | default | what it is | from |',
    '|---|---|---|---|',
    ...Object.entries(INPUTS).map(
      ([name, [value, unit, source]]) => `| ${name} | ${value.toLocaleString('en-US')} | ${unit} | ${source} |`,
    ),
    '',
  ].join('\n');

const parse = (words) => {
  const given = {};
  for (let index = 0; index < words.length; index += 2) {
    const name = (words[index] ?? '').replace(/^--/, '');
    const value = Number(words[index + 1]);
    if (!(name in INPUTS) || !Number.isFinite(value) || value < 0) {
      process.stderr.write(`Expected --NAME NUMBER, with one of ${Object.keys(INPUTS).join(', ')}\n`);
      process.exit(1);
    }
    given[name] = value;
  }
  return given;
};

const print = (given) => {
  for (const [name, [value, unit, source]] of Object.entries(INPUTS)) {
    const used = given[name] ?? value;
    const from = given[name] === undefined ? source : 'given';
    console.log(`${name.padEnd(18)} ${String(used).padStart(9)}  ${unit} (${from})`);
  }
  console.log();
  for (const [name, formula, value] of planOf(given)) console.log(`${shown(value).padStart(10)}  ${name} = ${formula}`);
};

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const words = process.argv.slice(2);
  if (words[0] === '--markdown') console.log(planMarkdown());
  else print(parse(words));
}
