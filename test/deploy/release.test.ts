import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, posix } from 'node:path';
import * as assert from 'uvu/assert';
import { parse } from 'yaml';
import { sectionOf } from '../../release/notes.mjs';
import { nameProblems, problemsOf, withVersion } from '../../release/version.mjs';
import { describe } from '../check.ts';
import { ROOT } from '../runtime/processes.ts';
import { goProgram } from './go-programs.ts';

const textOf = (file: string): string => readFileSync(join(ROOT, file), 'utf8');
const VERSION: string = JSON.parse(textOf('package.json')).version;
const NEXT = '97.5.3-rc.1';
const FILES = [
  'package.json',
  'package-lock.json',
  'k8s/gatehouse/Chart.yaml',
  'Dockerfile',
  'compose.yaml',
  'README.md',
  'docs/containers.md',
  'docs/kubernetes.md',
  'docs/moderation-gateway.md',
];
const WORKFLOWS = join(ROOT, '.github/workflows');
const workflows = readdirSync(WORKFLOWS).map((name) => readFileSync(join(WORKFLOWS, name), 'utf8'));
type Step = { readonly run?: string };
const ACTIONLINT = goProgram('actionlint', ['-version'], /^v?1\./);

describe('the version', (check) => {
  check('is the same in every file that names it', () => assert.equal(problemsOf(VERSION, textOf), []));

  for (const file of FILES)
    check(`is missed in ${file}`, () => {
      const readText = (name: string): string => (name === file ? withVersion(name, textOf(name), NEXT) : textOf(name));
      const problems = problemsOf(VERSION, readText);
      assert.ok(problems.length > 0);
      for (const problem of problems) assert.match(problem, `${file}: expected ${VERSION} in `);
    });

  check('is written in every file at once, and the changelog is asked for its section', () => {
    const problems = problemsOf(NEXT, (name) => withVersion(name, textOf(name), NEXT));
    assert.equal(problems, [`CHANGELOG.md: expected a section "## [${NEXT}] - YYYY-MM-DD" with something in it`]);
  });

  check('is named where its file names it no more', () => {
    const [problem = ''] = problemsOf(VERSION, (name) => (name === 'compose.yaml' ? '' : textOf(name)));
    assert.match(problem, 'compose.yaml: nothing like ');
  });
});

describe("the package's name", (check) => {
  const of = (url: string) => Response.json({ versions: { '0.0.1': {}, '0.1.4': { repository: { url } } } });
  const cases: readonly (readonly [string, () => Response, readonly string[]])[] = [
    ['may be free', () => new Response('{}', { status: 404 }), []],
    ['may be of the same repository', () => of('git+https://github.com/Us/gatehouse.git'), []],
    [
      'is refused when another has it',
      () => of('https://github.com/them/gatehouse'),
      ['them/gatehouse', 'set a name of your own'],
    ],
    ['is refused when nobody knows whose it is', () => of('https://git.test/us/gatehouse'), ['an unknown repository']],
    ['is refused when npm fails', () => new Response('', { status: 503 }), ['answered 503', 'try again']],
    ['is refused when npm answers in HTML', () => new Response('<html>'), ['could not be asked', 'try again']],
  ];
  for (const [name, answer, words] of cases)
    check(name, async () => {
      const asked: string[] = [];
      const ask = async (url: string): Promise<Response> => {
        asked.push(url);
        return answer();
      };
      const problems = await nameProblems('@scope/gatehouse', 'us/gatehouse', ask, 'https://npm.test');
      assert.equal(asked, ['https://npm.test/@scope%2fgatehouse']);
      assert.is(problems.length, words.length === 0 ? 0 : 1);
      for (const word of [...words, ...(words.length === 0 ? [] : ['Nothing was pushed'])])
        assert.match(problems.join(), word);
    });
  check('is that of an organisation, as its commands have a name that another package has', () =>
    assert.match(JSON.parse(textOf('package.json')).name, /^@[a-z-]+\/gatehouse$/),
  );
});

describe('the package', (check) => {
  check('has every file that a page in it links to, as the address of the repository is not known here', () => {
    const words = ['pack', '--dry-run', '--json', '--ignore-scripts', '--offline'];
    const { status, stdout, stderr } = spawnSync('npm', words, { cwd: ROOT, encoding: 'utf8' });
    assert.is(status, 0, stderr);
    const packed: readonly string[] = JSON.parse(stdout)[0].files.map(({ path }: { path: string }) => path);
    const isPacked = (path: string): boolean => packed.some((one) => one === path || one.startsWith(`${path}/`));
    const links = packed
      .filter((page) => page.endsWith('.md'))
      .flatMap((page) =>
        [...textOf(page).matchAll(/\]\(([^)#\s]+)[^)\s]*\)/g)]
          .filter(([, target = '']) => !/^[a-z]+:/.test(target))
          .map(([, target = '']) => ({ page, path: posix.join(posix.dirname(page), target) })),
      );
    assert.ok(links.length > 100);
    assert.equal(
      links.filter(({ path }) => !isPacked(path)),
      [],
    );
  });
});

describe('the notes of a release', (check) => {
  const log =
    '# Changelog\n\n## [Unreleased]\n\n- new\n\n## [0.2.0] - 2027-01-02\n\n- two\n\n## [0.1.0] - 2026-11-22\n\n- one\n';
  const cases: readonly (readonly [string, string, string | undefined])[] = [
    ['are its section of the changelog', '0.2.0', '- two\n'],
    ['end with the file', '0.1.0', '- one\n'],
    ['are missing for another version', '0.3.0', undefined],
    ['are missing for the beginning of a version', '0.1', undefined],
  ];
  for (const [name, version, notes] of cases) check(name, () => assert.is(sectionOf(log, version), notes));
  check('are missing without a date', () => assert.is(sectionOf('## [1.0.0] - soon\n\n- x\n', '1.0.0'), undefined));
  check('are missing when nothing stands in the section', () =>
    assert.is(sectionOf('## [1.0.0] - 2027-01-01\n\n## [0.9.0]', '1.0.0'), undefined),
  );
});

describe('workflows', (check) => {
  check.needing(ACTIONLINT === undefined ? 'actionlint' : undefined, 'are valid', () => {
    const { status, stdout } = spawnSync(ACTIONLINT ?? '', ['-shellcheck=', '-pyflakes='], {
      cwd: ROOT,
      encoding: 'utf8',
    });
    assert.is(status, 0, stdout);
  });

  check('use actions at a commit, not at a name that others can move', () => {
    const uses = workflows.flatMap((text) => [...text.matchAll(/uses: (\S+)/g)].map(([, action = '']) => action));
    for (const action of uses) assert.match(action, /^\.\/|@[0-9a-f]{40}$/);
    assert.ok(uses.length > 0);
  });

  check('call scripts that are there and may run', () => {
    const scripts = new Set(workflows.flatMap((text) => text.match(/(?<=[ "])(?:release|\.ci)\/[\w.]+/g) ?? []));
    assert.ok(scripts.size >= 6);
    for (const script of scripts) {
      const { mode } = statSync(join(ROOT, script));
      if (!script.endsWith('.mjs')) assert.ok((mode & 0o111) !== 0, script);
    }
  });

  check('let git read the repository in a container, where it belongs to another user', () => {
    const jobs = workflows.flatMap((text) => Object.values<{ container?: unknown; steps?: Step[] }>(parse(text).jobs));
    const inContainers = jobs.filter(({ container }) => container !== undefined);
    assert.ok(inContainers.length >= 2);
    for (const { steps = [] } of inContainers)
      assert.is(steps[1]?.run, 'git config --global --add safe.directory "$GITHUB_WORKSPACE"');
  });

  check('publish to npm without a token, after npm was asked for the name', () => {
    const text = textOf('.github/workflows/release.yml');
    const { version, npm } = parse(text).jobs;
    assert.is(npm.permissions['id-token'], 'write');
    assert.is(npm.environment, 'release');
    const words = npm.steps.map(({ run = '' }: Step) => run).join('\n');
    assert.match(words, /npm@1[1-9]\.\d+\.\d+\n.*release\/npm\.sh --publish/);
    assert.is(version.steps.at(-1).run, 'node release/version.mjs check "$GITHUB_REF_NAME"');
    for (const one of workflows) assert.not.match(one, /npm_token|authtoken/i);
  });

  check('are given no more than reading, unless a job asks for it', () => {
    for (const text of workflows) assert.match(text, /^permissions:\n {2}contents: read$/m);
  });
});
