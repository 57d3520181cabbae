import * as assert from 'uvu/assert';
import { describe } from '../../../check.ts';
import { configOf, LEAST, problemsOf, readFrom } from '../world.ts';

describe('what a text takes from outside', (check) => {
  check('is filled in where the text stands, blanks around it dropped', () => {
    const { agents } = configOf(
      { agent: { a: { prompt: 'I am {env:NAME}, {env: NAME }: {file:a.md}' } } },
      { NAME: ' Ada\n' },
      { './a.md': '\n# Rules\n' },
    );
    assert.is(agents.get('a')?.prompt, 'I am Ada, Ada: # Rules');
  });

  check('is not searched again', () => {
    const { agents } = configOf({ agent: { a: { prompt: '{env:A}' } } }, { A: '{env:B}{file:c}', B: 'x' });
    assert.is(agents.get('a')?.prompt, '{env:B}{file:c}');
  });

  check('never makes a name', () => {
    assert.ok(configOf({ agent: { '{env:NAME}': {} } }, { NAME: 'a' }).agents.has('{env:NAME}'));
  });

  check('cannot break out of its text', () => {
    const { agents } = configOf({ agent: { a: { prompt: '{env:NAME}' } } }, { NAME: '", "steps": 1, "x": "$& $1' });
    assert.is(agents.get('a')?.prompt, '", "steps": 1, "x": "$& $1');
  });

  const PATHS: readonly (readonly [config: string, written: string, read: string])[] = [
    ['conf/agent.json', 'key', 'conf/key'],
    ['conf/agent.json', '../key', 'conf/../key'],
    ['/etc/agent/agent.json', './key', '/etc/agent/./key'],
    ['/etc/agent/agent.json', '/run/secrets/key', '/run/secrets/key'],
    ['agent.json', 'key', 'key'],
    ['C:\\agent\\agent.json', 'key', 'C:\\agent\\key'],
    ['C:\\agent\\agent.json', 'D:\\key', 'D:\\key'],
    ['agent.json', '~/key', '/home/me/key'],
  ];
  for (const [config, written, read] of PATHS) {
    check(`is read at ${read} for ${written} in ${config}`, () => {
      const text = JSON.stringify({ ...LEAST, agent: { a: { prompt: `{file:${written}}` } } });
      const { agents } = readFrom({ AGENT_CONFIG: config, HOME: '/home/me' }, { [config]: text, [read]: 'found' });
      assert.is(agents.get('a')?.prompt, 'found');
    });
  }

  check('is asked for by path and name when it is missing or empty, and nothing else of that place is reported', () => {
    const problems = problemsOf(
      {
        model: '{env:MODEL}',
        agent: {
          a: { prompt: '{file:gone.md}', mode: '{env:EMPTY}', description: '{file:empty.md} {env:constructor}' },
        },
        mcp: { t: { type: 'local', command: ['node', '{env:ARG}'], environment: { KEY: '{env:}' } } },
        theme: '{env:THEME}',
      },
      { EMPTY: ' ' },
      { './empty.md': ' \n' },
    );
    assert.equal(problems, [
      'agent.json: model: expected a value: the variable "MODEL" is not set',
      'agent.json: agent.a.prompt: expected something to read in the file "gone.md"',
      'agent.json: agent.a.mode: expected a value: the variable "EMPTY" is not set',
      'agent.json: agent.a.description: expected something to read in the file "empty.md"',
      'agent.json: agent.a.description: expected a value: the variable "constructor" is not set',
      'agent.json: mcp.t.command[1]: expected a value: the variable "ARG" is not set',
      'agent.json: mcp.t.environment.KEY: expected a value: the variable "" is not set',
      'agent.json: theme: expected a value: the variable "THEME" is not set',
    ]);
  });

  check('is reported together with everything else', () => {
    assert.equal(problemsOf({ username: '{env:GONE}', steps: 0 }).length, 2);
  });

  check('is never quoted when it does not fit', () => {
    const problems = problemsOf(
      {
        model: '{env:S}',
        agent: { a: { mode: '{env:S}', color: '{env:S}' } },
        mcp: { t: { type: 'remote', url: '{env:S}' } },
      },
      { S: 'canary-77aa' },
    );
    assert.is(problems.length, 3);
    assert.not.match(problems.join('\n'), /canary/);
  });
});
