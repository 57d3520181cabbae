import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import * as assert from 'uvu/assert';
import { parsePolicyFile } from '../../../src/gateway/policy/policy-file.ts';
import { describe } from '../../check.ts';
import { jsonl, run, withGateway } from '../command.ts';
import { moderationOf, type Script } from '../world.ts';

const ROWS = Array.from({ length: 60 }, (_, index) => {
  const isPositive = index % 2 === 0;
  return {
    id: `id-${index}`,
    text: `canary ${index} ${isPositive ? 0.8 : 0.3}`,
    categories: isPositive ? ['hate'] : [],
  };
});
/** Scores a text as its last word says, by a policy of this version. */
const scoring =
  (policy: string): Script =>
  (text) => ({
    body: moderationOf({ hate: Number(text.split(' ').at(-1)) }),
    headers: { 'x-moderation-policy': policy, 'x-moderation-cache': 'miss' },
  });

describe('gatehouse eval --report', (check) => {
  const file = jsonl(...ROWS);
  const page = file.replace(/data\.jsonl$/, 'page.html');
  const policy = file.replace(/data\.jsonl$/, 'policy.json');
  const first = `${file}.first.jsonl`;

  check(
    'writes a page without texts, and a policy that a gateway takes',
    withGateway(scoring('first'), async ({ url }) => {
      const words = ['--file', file, '--url', url, '--out', first, '--report', page];
      const { code, stderr } = await run(...words, '--suggest-thresholds', policy, '--target', 'recall=0.9');
      assert.is(code, 0, stderr);
      assert.match(
        stderr,
        /hate: recall 0\.9: threshold 0\.5 \(0\.5 to 0\.5\), precision 1 \(1 to 1\), recall 1 \(1 to 1\)/,
      );
      assert.match(stderr, /violence: recall 0\.9: default kept, too little data: 0 positive and 60 negative/);
      const written = readFileSync(page, 'utf8');
      assert.match(written, /<title>Moderation report: data\.jsonl, set [0-9a-f]{12}, policy first<\/title>/);
      assert.not.match(written + readFileSync(policy, 'utf8') + readFileSync(first, 'utf8'), 'canary');
      assert.match(
        parsePolicyFile(readFileSync(policy, 'utf8')).policies.get('standard')?.version ?? '',
        /^suggested-/,
      );
    }),
  );

  check(
    'says that no threshold is suggested where no category has labels, and writes no policy',
    withGateway(scoring('first'), async ({ url }) => {
      const unlabelled = jsonl({ text: 'canary 0.8', label: 'unsafe' }, { text: 'canary 0.3', label: 'safe' });
      const none = unlabelled.replace(/data\.jsonl$/, 'policy.json');
      const { code, stderr } = await run('--file', unlabelled, '--url', url, '--suggest-thresholds', none);
      assert.is(code, 0, stderr);
      assert.is(stderr, `no category has labels, so no threshold is suggested and ${none} is not written\n`);
      assert.not(existsSync(none));
    }),
  );

  check(
    'compares with the results of another policy, and writes over a report of its own',
    withGateway(scoring('second'), async ({ url }) => {
      const { code, stderr } = await run('--file', file, '--url', url, '--compare', first, '--report', page);
      assert.is(code, 0, stderr);
      assert.is(stderr, `the report is in ${page}\n`);
      assert.match(readFileSync(page, 'utf8'), 'policy second and first</title>');
    }),
  );

  check(
    'asks nothing where it would write over what is not its own, or has nothing to compare with',
    withGateway(scoring('first'), async ({ url, asked }) => {
      const other = file.replace(/data\.jsonl$/, 'other.html');
      writeFileSync(other, '<p>mine</p>');
      const missing = (name: string) => join(dirname(file), 'mistyped', name);
      const least = ['--file', file, '--url', url];
      for (const [words, problem] of [
        [['--report', other], /--report: .*other\.html is no report of an earlier run/],
        [['--suggest-thresholds', policy], /--suggest-thresholds: .*policy\.json is there already/],
        [
          ['--report', page, '--compare', file],
          /--compare .*data\.jsonl line 1: expected a result of an earlier run; give another file\n/,
        ],
        [['--out', file], /--out .*data\.jsonl line 1: expected a result of an earlier run; give another file\n/],
        [['--out', missing('r.jsonl')], /--out: expected a path in a directory that exists, .*mistyped is none/],
        [['--report', missing('r.html')], /--report: expected a path in a directory that exists, .*mistyped is none/],
        [
          ['--suggest-thresholds', missing('p.json')],
          /--suggest-thresholds: expected a path in a directory that exists/,
        ],
        [['--report', page, '--compare', `${file}.none`], /--compare: expected a results file, found none at/],
      ] as const) {
        const { code, stderr } = await run(...least, '--out', `${file}.unused`, ...words);
        assert.is(code, 1);
        assert.match(stderr, problem);
      }
      assert.equal([asked.length, existsSync(`${file}.unused`)], [0, false]);
      assert.not(existsSync(missing('')));
      assert.is(readFileSync(other, 'utf8'), '<p>mine</p>');
    }),
  );
});
