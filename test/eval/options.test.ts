import { parseArgs } from 'node:util';
import * as assert from 'uvu/assert';
import type { ConfigError } from '../../src/core/config.ts';
import { createProgressLines } from '../../src/eval/adapter/files.ts';
import { FLAGS, HELP, parseArguments, resolveOptions } from '../../src/eval/options.ts';

import { describe } from '../check.ts';
import { createManualClock } from './world.ts';

const given = (...args: readonly string[]) => {
  const options = Object.fromEntries(
    FLAGS.map(({ name, value }) => [name, { type: value === undefined ? 'boolean' : 'string' } as const]),
  );
  return parseArguments(
    parseArgs({ args: [...args], options, strict: false, allowPositionals: true, tokens: true }).tokens,
  );
};
const least = { '--file': 'dir/data.jsonl', '--key': 'k' };
const problems = (more: Record<string, string>): readonly string[] => {
  try {
    resolveOptions({ ...least, ...more });
  } catch (error) {
    return (error as ConfigError).problems;
  }
  return [];
};

describe('options', (check) => {
  check('a file and a key are enough', () => {
    const options = resolveOptions(least);
    assert.equal(options, {
      file: 'dir/data.jsonl',
      model: 'moderation-fast',
      url: 'http://127.0.0.1:8000',
      key: 'k',
      textField: undefined,
      idField: undefined,
      groupField: undefined,
      labels: undefined,
      concurrency: 4,
      limit: Number.POSITIVE_INFINITY,
      out: 'dir/data.jsonl.moderation-fast.results.jsonl',
      report: undefined,
      compare: undefined,
      policyOut: undefined,
      targets: [],
      isFresh: false,
      asJson: false,
      timeoutMs: 30000,
    });
  });

  check('what would have no effect is refused', () => {
    for (const [flag, needed] of [
      ['--compare', '--report'],
      ['--target', '--suggest-thresholds'],
    ])
      assert.equal(problems({ ...least, [`${flag}`]: 'recall=0.9' }), [`${flag}: has no effect without ${needed}`]);
    const whole = {
      ...least,
      '--compare': 'a',
      '--report': 'a.html',
      '--target': 'recall=0.9',
      '--suggest-thresholds': 'p.json',
    };
    assert.equal(resolveOptions(whole).targets, ['recall=0.9']);
  });

  check('a model with a slash does not lead the results into another folder', () => {
    assert.is(resolveOptions({ ...least, '--model': '../a/b:c' }).out, 'dir/data.jsonl..._a_b_c.results.jsonl');
  });

  check('an address may end in a slash or in /v1', () => {
    for (const url of ['http://gate:1', 'http://gate:1/', 'http://gate:1/v1', 'http://gate:1/v1/']) {
      assert.is(resolveOptions({ ...least, '--url': url }).url, 'http://gate:1');
    }
  });

  check('everything that is wrong is said at once, by flag and without the value', () => {
    const printed = problems({
      '--file': 'data.txt',
      '--key': 'a key',
      '--url': 'http://me:pw@gate',
      '--concurrency': '257',
      '--limit': '0',
    });
    assert.equal(printed.map((line) => line.split(':')[0]).sort(), [
      '--concurrency',
      '--file',
      '--key',
      '--limit',
      '--url',
    ]);
    assert.not.match(printed.join('\n'), /a key\b(?! of)|pw|data\.txt/);
    assert.match(problems({ '--file': '' })[0] ?? '', '--file: expected a path that ends in .jsonl');
    assert.match(problems({ '--key': '' })[0] ?? '', 'MODERATION_API_KEY');
    assert.match(problems({ '--url': 'gate:8000' })[0] ?? '', '--url: expected http(s)');
  });

  check('words become flags with texts, and the last one counts', () => {
    assert.equal(
      { ...given('--file', 'a.csv', '--json', '--limit=3', '--limit=4') },
      { '--file': 'a.csv', '--json': 'on', '--limit': '4' },
    );
  });

  check('a word that fits nothing is refused and not shown', () => {
    assert.throws(() => given('--modle', 'x'), 'unknown flag --modle, the nearest known is --model');
    assert.throws(() => given('--file', '--json'), '--file: expected a value, PATH');
    assert.throws(() => given('--key'), '--key: expected a value, KEY');
    assert.throws(() => given('--json=yes'), '--json: expected no value');
    assert.throws(
      () => given('--json', 'sk-secret'),
      (error: Error) => error.message.startsWith('word 2: expected a flag') && !error.message.includes('sk-'),
    );
  });

  check('the help names every flag', () => {
    for (const { name } of FLAGS) assert.match(HELP, new RegExp(`^  --${name}\\b`, 'm'));
  });
});

describe('progress without a terminal', (check) => {
  check('is a line every five seconds', () => {
    const clock = createManualClock();
    const lines: string[] = [];
    const progress = createProgressLines((line) => lines.push(line), clock);
    progress.start(10, 2);
    progress.advance(3, 0);
    clock.advance(5000);
    progress.advance(4, 1);
    progress.advance(5, 1);
    clock.advance(4999);
    progress.advance(6, 1);
    progress.stop();
    assert.equal(lines, ['4 of 10, 1 error\n']);
  });
});
