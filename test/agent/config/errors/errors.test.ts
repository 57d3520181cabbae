import * as assert from 'uvu/assert';
import { describe } from '../../../check.ts';
import { configOf, type Json, problemsOf } from '../world.ts';
import { local, options, remote, servers, UNKNOWN, WRONG } from './wrong.ts';

describe('a configuration is refused, by path,', (check) => {
  for (const [written, problem] of WRONG) {
    check(`with "${problem.slice(0, 110)}" for ${JSON.stringify(written).slice(0, 140)}`, () => {
      assert.equal(problemsOf(written), [`agent.json: ${problem}`]);
    });
  }
  for (const [written, where, name, nearest] of UNKNOWN) {
    check(`for the unknown name "${name}" in ${where}`, () => {
      assert.equal(problemsOf(written), [
        `agent.json: ${where}: unknown name "${name}", the nearest known one is "${nearest}"`,
      ]);
    });
  }

  check('with everything that is wrong with it at once', () => {
    const problems = problemsOf({
      modle: 'x',
      tempo: 1,
      model: 'home/none',
      steps: 'many',
      agent: { a: { promt: 1, stpes: 2, mode: 'x', model: 'home/other' }, b: 3 },
      mcp: { a: { type: 'lokal' }, b: { type: 'remote', url: 'x', timeout: -1 } },
      default_agent: 'title',
      permission: { a: 'x', b: { c: 'y' } },
    });
    assert.equal(
      problems.map((problem) => problem.split(': ').slice(1, 3).join(': ').replace(/,.*/, '')),
      [
        'top level: unknown name "modle"',
        'top level: unknown name "tempo"',
        'agent.a: unknown name "promt"',
        'agent.a: unknown name "stpes"',
        'agent.a.mode: expected primary | subagent | all',
        'agent.b: expected an object',
        'mcp.a.type: expected local | remote',
        'mcp.b.url: expected an address such as http://host:port/path',
        'mcp.b.timeout: expected a whole number from 1 to 86400000',
        'permission.a: expected allow | ask | deny',
        'permission.b.c: expected allow | ask | deny',
        'steps: expected a whole number from 1 to 10000',
        'model: expected a model that is configured under provider',
        'agent.a.model: expected a model that is configured under provider',
        'default_agent: expected an agent that is not disabled',
      ],
    );
  });

  check('without quoting a value, wherever it stands', () => {
    const canary = 'canary-5e1f';
    const wrongs: readonly Json[] = [
      ...WRONG.map(([written]) => written),
      { model: canary, small_model: `${canary}/x`, default_agent: canary, permission: canary, steps: canary },
      { instructions: [canary], compaction: canary, tool_output: { max_lines: canary } },
      { agent: { a: canary, b: { model: canary, variant: canary, mode: canary, options: canary, steps: canary } } },
      options({ apiKey: `${canary} `, baseURL: canary, headers: { a: `${canary}\n` }, timeout: canary }),
      local({ command: canary, environment: canary, timeout: canary }),
      remote({ url: canary, headers: canary, oauth: canary }),
    ];
    for (const written of wrongs) {
      const filled = JSON.parse(JSON.stringify(written), (_, value) =>
        typeof value === 'string' && value.includes(' ') ? canary : value,
      );
      try {
        configOf(filled);
      } catch (error) {
        assert.not.match(String(error), canary);
      }
    }
  });

  check('with a name cut to its limit', () => {
    const [problem = ''] = problemsOf({ ['x'.repeat(5000)]: 1 });
    assert.ok(problem.length < 200, problem);
  });
});

describe('ids of tool servers', (check) => {
  check('that give their tools names of their own are taken, however alike they look', () => {
    const ids = ['relay', 'relay-admin', 'relayadmin', 'my_relay', 'elay'];
    assert.equal([...configOf(servers(...ids)).mcp.keys()], ids);
  });
});
