import * as assert from 'uvu/assert';
import { readAgentConfig } from '../../../../src/agent/config/load.ts';
import type { Variables } from '../../../../src/core/config.ts';
import { readIfPresent } from '../../../../src/main/program/read-file.ts';
import { describe } from '../../../check.ts';
import { configOf, LEAST, problemsFrom, problemsOf, readFrom } from '../world.ts';

const INLINE = JSON.stringify(LEAST);
const AT_HOME = { './agent.json': INLINE };

describe('where a configuration comes from', (check) => {
  check('is ./agent.json when nothing else is said', () => {
    assert.equal([...readFrom({}, AT_HOME).providers.keys()], ['home']);
    assert.equal([...readFrom({ AGENT_CONFIG: ' ' }, AT_HOME).providers.keys()], ['home']);
  });

  check('is the file that is named', () => {
    assert.ok(readFrom({ AGENT_CONFIG: '/etc/agent/a.json' }, { '/etc/agent/a.json': INLINE }));
  });

  check('may be the environment alone', () => {
    assert.ok(readFrom({ AGENT_CONFIG_CONTENT: INLINE }));
  });

  check('is reported in all three ways when there is none', () => {
    const problems = problemsFrom(() => readFrom({}));
    assert.is(problems.length, 1);
    assert.match(problems[0] ?? '', /^AGENT_CONFIG: .*\.\/agent\.json.*AGENT_CONFIG,.*AGENT_CONFIG_CONTENT$/);
  });

  check('is not something else when the file that is named cannot be read', () => {
    const gone = { AGENT_CONFIG: 'gone.json', AGENT_CONFIG_CONTENT: INLINE };
    assert.equal(
      problemsFrom(() => readFrom(gone, AT_HOME)),
      ['AGENT_CONFIG: expected the path of a file that can be read; cannot read "gone.json"'],
    );
  });

  check(
    'says why a file cannot be read: the one that is named, the default one, one of a reference, or instructions',
    () => {
      const refused = (variables: Variables, file = '') =>
        problemsFrom(() =>
          readAgentConfig(variables, (path, onUnreadable) => {
            if (path === './agent.json' && file !== '') return file;
            onUnreadable?.('permission denied (EACCES)');
            return undefined;
          }),
        );
      for (const [variables, name] of [
        [{ AGENT_CONFIG: 'gone.json' }, 'gone.json'],
        [{}, './agent.json'],
      ] as const)
        assert.equal(refused(variables), [
          `AGENT_CONFIG: expected the path of a file that can be read; cannot read "${name}": permission denied (EACCES)`,
        ]);
      const problems = refused({}, JSON.stringify({ ...LEAST, instructions: ['a.md'], model: '{file:b}' })).join('\n');
      assert.match(
        problems,
        'instructions[0]: expected the path of a file that can be read: permission denied (EACCES)',
      );
      assert.match(problems, 'expected something to read in the file "b": permission denied (EACCES)');
      const missing = problemsFrom(() => readAgentConfig({ AGENT_CONFIG: '/nowhere/agent.json' }, readIfPresent));
      assert.match(missing.join(), 'cannot read "/nowhere/agent.json": no such file or directory (ENOENT)');
      assert.match(
        problemsFrom(() => readAgentConfig({}, readIfPresent)).join(),
        'AGENT_CONFIG: expected a configuration',
      );
    },
  );

  check('is named by its problems, and by line and column where it is no JSON', () => {
    const problemIn = (text: string) =>
      problemsFrom(() => readFrom({ AGENT_CONFIG: 'conf/a.json' }, { 'conf/a.json': text }));
    assert.equal(problemIn('{\n  "steps": 5,,\n}'), ['conf/a.json:2:14: expected a name in double quotes']);
    assert.equal(problemIn('[]'), ['conf/a.json: top level: expected an object']);
    assert.equal(problemIn(`{"steps": 0, ${INLINE.slice(1)}`), [
      'conf/a.json: steps: expected a whole number from 1 to 10000',
    ]);
  });

  check('is reported when it is no object, also where the other text would do', () => {
    const problems = problemsFrom(() => readFrom({ AGENT_CONFIG_CONTENT: INLINE }, { './agent.json': '[]' }));
    assert.equal(problems, ['agent.json: top level: expected an object']);
  });

  check('is reported in both texts at once when neither is JSON', () => {
    assert.equal(
      problemsFrom(() => readFrom({ AGENT_CONFIG_CONTENT: 'x' }, { './agent.json': '{' })),
      [
        'agent.json:1:2: expected a closing brace',
        'AGENT_CONFIG_CONTENT:1:1: expected a value, or a name or text in double quotes',
      ],
    );
  });
});

const over = (file: object, inline: object, files: Readonly<Record<string, string>> = {}) =>
  configOf({ ...file }, { AGENT_CONFIG_CONTENT: JSON.stringify(inline) }, files);

describe('the environment over the file', (check) => {
  check('changes what it names and leaves the rest', () => {
    const { providers, steps, agents } = over(
      { steps: 7, agent: { a: { prompt: 'file', steps: 3 } } },
      {
        provider: { home: { options: { apiKey: 'k' }, models: { small: { name: 'Small' } } } },
        agent: { a: { prompt: 'env' } },
      },
    );
    const home = providers.get('home');
    assert.equal(
      [home?.baseURL, home?.apiKey, home?.models.get('small')?.name],
      ['http://127.0.0.1:1/v1', 'k', 'Small'],
    );
    assert.equal([steps, agents.get('a')?.prompt, agents.get('a')?.steps], [7, 'env', 3]);
  });

  check('replaces lists', () => {
    const server = { type: 'local', command: ['node', 'a.js'] };
    const { mcp } = over({ mcp: { a: server } }, { mcp: { a: { command: ['deno'] } } });
    const a = mcp.get('a');
    assert.equal(a?.type === 'local' ? a.command : [], ['deno']);
  });

  check('keeps an action for all as the rule that narrower ones refine', () => {
    const { rules } = over({ permission: { bash: 'deny' } }, { permission: { bash: { 'ls *': 'allow' } } });
    assert.equal(rules.slice(1), [
      { permission: 'bash', pattern: '*', action: 'deny' },
      { permission: 'bash', pattern: 'ls *', action: 'allow' },
    ]);
    const { agents } = over(
      { agent: { a: { permission: 'deny' } } },
      { agent: { a: { permission: { read: 'allow' } } } },
    );
    assert.equal(agents.get('a')?.rules.slice(1), [
      { permission: '*', pattern: '*', action: 'deny' },
      { permission: 'read', pattern: '*', action: 'allow' },
    ]);
  });

  check('has its problems reported under its own name', () => {
    const problems = problemsOf(
      { steps: 0, agent: { a: { mode: 'x' } } },
      {
        AGENT_CONFIG_CONTENT: JSON.stringify({
          small_model: 1,
          agent: { a: { hidden: 1 } },
          mcp: { m: { type: 'local' } },
        }),
      },
    );
    assert.equal(problems.map((problem) => problem.split(': ').slice(0, 2).join(': ')).toSorted(), [
      'AGENT_CONFIG_CONTENT: agent.a.hidden',
      'AGENT_CONFIG_CONTENT: mcp.m.command',
      'AGENT_CONFIG_CONTENT: small_model',
      'agent.json: agent.a.mode',
      'agent.json: steps',
    ]);
  });
});

describe('instructions', (check) => {
  check('are read at the start, each from beside the file that names it', () => {
    const files = {
      'conf/agent.json': JSON.stringify({ ...LEAST, instructions: ['a.md', '/b.md'] }),
      'conf/a.md': 'A\n',
      '/b.md': ' B',
      'a.md': 'other A',
    };
    const inline = JSON.stringify({ instructions: ['a.md', '/b.md'] });
    const { instructions, redacted: shown } = readFrom(
      { AGENT_CONFIG: 'conf/agent.json', AGENT_CONFIG_CONTENT: inline },
      files,
    );
    assert.equal(instructions, [
      { path: 'conf/a.md', text: 'A' },
      { path: '/b.md', text: 'B' },
      { path: 'a.md', text: 'other A' },
    ]);
    assert.equal(shown.instructions, ['a.md', '/b.md']);
  });
});
