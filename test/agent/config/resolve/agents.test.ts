import * as assert from 'uvu/assert';
import { describe } from '../../../check.ts';
import { configOf, LEAST } from '../world.ts';

describe('agents', (check) => {
  check('are five by themselves, two of them hidden', () => {
    const { agents, defaultAgent } = configOf({});
    assert.equal(
      [...agents.values()].map(({ name, mode, isHidden, isNative }) => [name, mode, isHidden, isNative]),
      [
        ['build', 'primary', false, true],
        ['plan', 'primary', false, true],
        ['general', 'subagent', false, true],
        ['title', 'primary', true, true],
        ['compaction', 'primary', true, true],
      ],
    );
    assert.is(defaultAgent, 'build');
  });

  check('are made, changed and taken away', () => {
    const { agents, defaultAgent } = configOf({
      steps: 9,
      agent: {
        build: { disable: true },
        plan: { prompt: 'Plan', steps: 4, hidden: true },
        helper: { temperature: 0.2, top_p: 0.9, color: '#fff', variant: 'high', model: 'home/small' },
        general: { mode: 'all' },
      },
      provider: { home: { ...LEAST.provider.home, models: { small: { reasoning: true } } } },
    });
    assert.equal([...agents.keys()], ['plan', 'general', 'title', 'compaction', 'helper']);
    assert.equal([agents.get('plan')?.prompt, agents.get('plan')?.steps, agents.get('helper')?.steps], ['Plan', 4, 9]);
    const { rules: _, ...helper } = agents.get('helper') ?? { rules: [] };
    assert.equal(helper, {
      name: 'helper',
      description: undefined,
      mode: 'all',
      isNative: false,
      isHidden: false,
      color: '#fff',
      temperature: 0.2,
      topP: 0.9,
      model: { providerID: 'home', modelID: 'small' },
      variant: 'high',
      prompt: undefined,
      options: {},
      steps: 9,
    });
    assert.is(defaultAgent, 'general');
  });

  check('have our rules first, then those of all, then their own', () => {
    const { agents, rules } = configOf({
      permission: { bash: 'ask' },
      agent: { a: { permission: { bash: { 'ls *': 'allow' } } } },
    });
    const shared = [
      { permission: '*', pattern: '*', action: 'allow' },
      { permission: 'bash', pattern: '*', action: 'ask' },
    ];
    assert.equal(rules, shared);
    assert.equal(agents.get('build')?.rules, shared);
    assert.equal(agents.get('a')?.rules, [...shared, { permission: 'bash', pattern: 'ls *', action: 'allow' }]);
  });

  check('that plan change no files even where everything is allowed for all, unless they are allowed to', () => {
    const edit = { permission: 'edit', pattern: '*', action: 'deny' };
    assert.equal(configOf({ permission: 'allow' }).agents.get('plan')?.rules.at(-1), edit);
    const reported = configOf({ agent: { plan: { permission: { edit: 'ask' } } } });
    assert.equal(reported.agents.get('plan')?.rules.at(-1), { ...edit, action: 'ask' });
  });
});
