import * as assert from 'uvu/assert';
import * as v from 'valibot';
import {
  CommaList,
  ConfigError,
  OneOf,
  readVariables,
  unknownVariables,
  type Variables,
  WholeNumber,
  withUnknownVariables,
} from '../../src/core/config.ts';
import { describe } from '../check.ts';

const Settings = v.object({
  HOST: v.optional(v.string(), '0.0.0.0'),
  PORT: v.optional(WholeNumber(1, 65_535), '8000'),
  LEVEL: v.optional(OneOf(['info', 'warn']), 'info'),
  KEYS: v.optional(CommaList, ''),
});

const problemsOf = (schema: v.GenericSchema, variables: Variables): readonly string[] => {
  try {
    readVariables(schema, variables);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  throw new Error('The configuration was accepted');
};

describe('a configuration', (check) => {
  check('is read from texts, with defaults for what is not set', () => {
    assert.equal(readVariables(Settings, {}), { HOST: '0.0.0.0', PORT: 8000, LEVEL: 'info', KEYS: [] });
    assert.equal(readVariables(Settings, { HOST: '::1', PORT: ' 80 ', LEVEL: 'warn ', KEYS: 'a,b' }), {
      HOST: '::1',
      PORT: 80,
      LEVEL: 'warn',
      KEYS: ['a', 'b'],
    });
  });

  for (const empty of ['', ' ', '\t\n', undefined]) {
    check(`takes ${JSON.stringify(empty) ?? 'undefined'} for not set`, () => {
      assert.is(readVariables(Settings, { PORT: empty, LEVEL: empty, HOST: empty }).PORT, 8000);
      assert.is(readVariables(Settings, { HOST: empty }).HOST, '0.0.0.0');
      assert.equal(problemsOf(v.object({ URL: v.string() }), { URL: empty }), ['URL: expected a value']);
    });
  }

  check('may stand among variables that are none of its business', () => {
    assert.not('PATH' in readVariables(Settings, { PATH: '/bin' }));
  });

  check('reports all its problems at once, a line each, by the names of the variables', () => {
    assert.equal(problemsOf(Settings, { PORT: '0', LEVEL: 'loud', KEYS: 'fine' }), [
      'PORT: expected a whole number from 1 to 65535',
      'LEVEL: expected info | warn',
    ]);
  });

  check('has its problems in the message of its error too', () => {
    const error = new ConfigError(['A: expected a', 'B: expected b']);
    assert.is(error.message, 'A: expected a\nB: expected b');
    assert.is(error.name, 'ConfigError');
  });

  check('never shows a value, not even through a schema that has no words of its own', () => {
    const canary = 'canary-7f3a';
    const Strict = v.object({
      URL: v.pipe(v.string(), v.url()),
      TOKEN: v.pipe(v.string(), v.regex(/^sk-/)),
      LONG: v.pipe(v.string(), v.minLength(100)),
      WORD: v.picklist(['x', 'y']),
      JUDGED: v.pipe(
        v.string(),
        v.check(() => false),
      ),
      LITERAL: v.literal('z'),
      UNION: v.union([v.literal('a'), v.pipe(v.string(), v.maxLength(1))]),
      PORT: WholeNumber(1, 9),
      LEVEL: OneOf(['info']),
    });
    const names = Object.keys(Strict.entries);
    const problems = problemsOf(Strict, Object.fromEntries(names.map((name) => [name, `${canary}"${canary}`])));
    assert.equal(
      problems.map((problem) => problem.split(':')[0]),
      names,
    );
    for (const problem of problems) {
      assert.match(problem, /^[A-Z]+: expected \S/);
      assert.not.match(problem, /canary|received/i);
    }
  });

  check('that is wrong as a whole says so', () => {
    const Pair = v.pipe(
      v.object({ A: v.optional(v.string()), B: v.optional(v.string()) }),
      v.check(({ A, B }) => A !== undefined || B !== undefined, 'expected A or B'),
    );
    assert.equal(problemsOf(Pair, {}), ['configuration: expected A or B']);
  });
});

describe('a whole number', (check) => {
  const Read = WholeNumber(0, 1000);

  check('lies within its bounds, both included', () => {
    assert.is(v.parse(Read, '0'), 0);
    assert.is(v.parse(Read, '1000'), 1000);
    assert.not(v.is(Read, '1001'));
    assert.not(v.is(WholeNumber(5, 9), '4'));
  });

  check('may have zeros and blanks around it', () => assert.is(v.parse(Read, ' 007 '), 7));

  for (const text of [
    '',
    '-1',
    '+1',
    '1.5',
    '1e2',
    '0x10',
    '1_000',
    '1,000',
    '१',
    '１',
    'Infinity',
    'NaN',
    '1 2',
    '9'.repeat(400),
  ]) {
    check(`is not "${text.slice(0, 20)}"`, () => assert.not(v.is(Read, text)));
  }

  check("is never reported in valibot's words", () => {
    for (const text of ['x', '5000', '']) {
      const { issues = [] } = v.safeParse(WholeNumber(3, 4), text);
      assert.ok(issues.length > 0);
      for (const { message } of issues) assert.is(message, 'expected a whole number from 3 to 4');
    }
  });
});

describe('one of a few words', (check) => {
  check('is exactly one of them, in their own case', () => {
    const Read = OneOf(['auto', 'ollama']);
    assert.is(v.parse(Read, ' ollama '), 'ollama');
    for (const text of ['Ollama', 'auto ollama', 'aut', '', 'constructor']) assert.not(v.is(Read, text), text);
  });
});

describe('a comma-separated list', (check) => {
  const lists: readonly (readonly [string, readonly string[]])[] = [
    ['a', ['a']],
    [' a , b,,\tc ,', ['a', 'b', 'c']],
    ['a b', ['a b']],
    [',, ,', []],
    ['', []],
    ['a,a', ['a', 'a']],
  ];
  for (const [text, items] of lists) {
    check(`${JSON.stringify(text)} holds ${JSON.stringify(items)}`, () =>
      assert.equal(v.parse(CommaList, text), items),
    );
  }
});

describe('variables that have no effect', (check) => {
  const KNOWN = ['LOG_LEVEL', 'MAX_CONCURRENCY', 'OURS_PORT'];
  const reported = (...names: readonly string[]) =>
    Object.fromEntries(unknownVariables(Object.fromEntries(names.map((name) => [name, 'x'])), /^OURS_/, KNOWN));

  check('are named with what was meant only where that is near, or what they shorten', () => {
    const known = ['AGENT_CONFIG', 'AGENT_DATABASE_URL', 'AGENT_SERVER_PASSWORD', 'RELAY_TIMEOUT_MS'];
    const meant = (name: string) => unknownVariables({ [name]: 'x' }, /_/, known).get(name);
    for (const [name, expected] of [
      ['AGENT_DATABSE_URL', 'AGENT_DATABASE_URL'],
      ['AGENT_DATBASE_URI', 'AGENT_DATABASE_URL'],
      ['AGENT_PASSWORD', 'AGENT_SERVER_PASSWORD'],
      ['RELAY_TIMEOUT', 'RELAY_TIMEOUT_MS'],
      ['AGENT_DATA_DIR', undefined],
      ['AGENT_MODEL', undefined],
      ['AGENT_S', undefined],
      ['RELAY_URL', undefined],
    ] as const)
      assert.is(meant(name), expected, name);
    assert.is(unknownVariables({ A_B: 'x' }, /_/, []).get('A_B'), undefined);
  });

  check('are warnings among errors, and once where an error names them already', () => {
    const unknown = new Map([
      ['OURS_POST', 'OURS_PORT'],
      ['OURS_X', undefined],
      ['OURS_KEI', 'OURS_KEY'],
    ]);
    const error = withUnknownVariables(new ConfigError(['OURS_KEI: refused', 'LEVEL: expected x']), unknown);
    assert.equal(error instanceof ConfigError && error.problems, [
      'OURS_KEI: refused',
      'LEVEL: expected x',
      'OURS_POST: warning: this variable has no effect; did you mean OURS_PORT?',
      'OURS_X: warning: this variable has no effect',
    ]);
  });

  check('are those with our beginning, and those that are a slip away from one of ours', () => {
    assert.equal(reported('OURS_POST', 'OURS_X'), { OURS_POST: 'OURS_PORT', OURS_X: undefined });
    assert.equal(reported('LOG_LEVL', 'MAX_CONCURENCY', 'MAXCONCURENCY'), {
      LOG_LEVL: 'LOG_LEVEL',
      MAX_CONCURENCY: 'MAX_CONCURRENCY',
      MAXCONCURENCY: 'MAX_CONCURRENCY',
    });
  });
  check('are not those that Kubernetes sets, and not empty ones', () => {
    assert.equal(
      reported('OURS_SERVICE_HOST', 'OURS_API_SERVICE_PORT_HTTP', 'OURS_API_PORT', 'OURS_PORT_80_TCP_ADDR'),
      {},
    );
    assert.is(unknownVariables({ OURS_X: ' ', OURS_Y: undefined }, /^OURS_/, KNOWN).size, 0);
  });
  check('are not ours, and not what others are called', () => {
    assert.equal(
      reported(...KNOWN, 'PATH', 'LOGNAME', 'LOG_FORMAT', 'MAX_MEMORY', 'LOG', 'HTTP_PROXY', 'NODE_OPTIONS'),
      {},
    );
  });
});
