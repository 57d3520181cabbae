import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { configOf, type Json, LEAST } from './world.ts';

const CANARY = 'canary-5e1f';
const withModels = (models: Json, more: Json = {}): Json => ({
  model: `home/${Object.keys(models)[0]}`,
  provider: { home: { options: { baseURL: 'http://127.0.0.1:1/v1', apiKey: 'k' }, models, ...more } },
});
const anthropic = (model: Json): Json => withModels({ small: model }, { npm: '@ai-sdk/anthropic' });
const openai = (model: Json): Json => withModels({ small: model }, { npm: '@ai-sdk/openai' });
const SMALL = 'provider.home.models.small';
const EFFORTS = 'of efforts @ai-sdk/anthropic knows none, minimal, low, medium, high, xhigh, max';
const NO_TOOL = 'no tool here has this name';
const NO_PATTERN = 'the pattern of a call of these tools is always *';
const NOBODY = 'no agent that takes work has this name';
const HELPER = 'this agent takes one step and has no tools';

/** What is written, and the lines that the start tells of it: where, and why nothing comes of it. */
const IDLE: readonly (readonly [what: string, written: Json, lines: readonly (readonly [string, string])[]])[] = [
  [
    'an option that the adapter drops',
    openai({ options: { store: false, reasoning_effort: CANARY }, variants: { a: { top_k: 1 }, b: { user: 'x' } } }),
    [
      [`${SMALL}.options.reasoning_effort`, '@ai-sdk/openai has no such option, the nearest one is "reasoningEffort"'],
      [`${SMALL}.variants.a.top_k`, '@ai-sdk/openai has no such option, the nearest one is "store"'],
    ],
  ],
  [
    'an effort that the adapter does not know',
    anthropic({
      options: { reasoningEffort: CANARY, effort: 'high' },
      variants: { xhigh: {}, turbo: {}, gone: { disabled: true, a: 1 } },
    }),
    [
      [`${SMALL}.options.reasoningEffort`, EFFORTS],
      [`${SMALL}.variants.turbo`, EFFORTS],
    ],
  ],
  [
    'an option of an agent that no adapter of its models takes',
    {
      model: 'home/small',
      provider: {
        home: { npm: '@ai-sdk/openai', ...LEAST.provider.home },
        other: { npm: '@ai-sdk/anthropic', ...LEAST.provider.home },
      },
      agent: {
        any: { options: { top_k: 1, store: false, thinking: {} } },
        own: { model: 'other/small', options: { store: false } },
      },
    },
    [
      ['agent.any.options.top_k', '@ai-sdk/openai has no such option, the nearest one is "store"'],
      ['agent.own.options.store', '@ai-sdk/anthropic has no such option, the nearest one is "effort"'],
    ],
  ],
  [
    'a temperature for a model that takes none',
    {
      ...withModels({ cold: { temperature: false }, warm: {} }),
      agent: {
        build: { temperature: 0.5 },
        own: { model: 'home/warm', temperature: 0.5 },
        gone: { temperature: 1, disable: true },
      },
    },
    [['agent.build.temperature', 'the model "home/cold" takes none, as its own temperature says']],
  ],
  [
    'a temperature of the model that writes titles',
    {
      ...withModels({ warm: {}, cold: { temperature: false } }),
      small_model: 'home/cold',
      agent: { title: { temperature: 0 }, compaction: { temperature: 0 } },
    },
    [['agent.title.temperature', 'the model "home/cold" takes none, as its own temperature says']],
  ],
  [
    'a variant that no model has',
    {
      ...withModels({ small: { reasoning: true } }),
      agent: { a: { variant: 'high' }, b: { variant: 'turbo' }, c: { variant: 'turbo', disable: true } },
    },
    [['agent.b.variant', 'no model has this variant']],
  ],
  [
    'a variant that the model of the agent does not have, and another has',
    {
      ...withModels({ small: { reasoning: true }, plain: {} }),
      model: 'home/plain',
      small_model: 'home/small',
      agent: {
        a: { variant: 'high' },
        b: { variant: 'high', model: 'home/small' },
        c: { variant: 'high', disable: true },
        title: { variant: 'high' },
      },
    },
    [['agent.a.variant', 'its model "home/plain" has no such variant; others have it, such as "home/small"']],
  ],
  [
    'a rule for work that nobody takes',
    {
      permission: { task: { '*': 'deny', genral: 'allow', 'gen*': 'allow', 'x*': 'ask' } },
      agent: {
        build: { permission: { task: { maintainer: 'allow', plan: 'allow', title: 'allow', gone: 'allow' } } },
        maintainer: { permission: { task: 'deny' } },
        gone: { disable: true },
        title: { hidden: true },
      },
    },
    [
      ['permission.task.genral', NOBODY],
      ['permission.task.x*', NOBODY],
      ['agent.build.permission.task.plan', NOBODY],
      ['agent.build.permission.task.title', NOBODY],
      ['agent.build.permission.task.gone', NOBODY],
    ],
  ],
  [
    'steps and rules of an agent that takes one step without tools',
    { agent: { title: { steps: 5 }, compaction: { permission: 'allow' }, general: { steps: 5 } } },
    [
      ['agent.title.steps', HELPER],
      ['agent.compaction.permission', HELPER],
    ],
  ],
  ['steps of a helper that may be talked with', { agent: { title: { steps: 5, hidden: false } } }, []],
  [
    'a summary that is switched off at the wrong place',
    { agent: { compaction: { disable: true } } },
    [['agent.compaction.disable', 'summaries are made all the same, and compaction.auto says when']],
  ],
  [
    'tokens to keep free where nothing is kept free',
    { compaction: { auto: false, reserved: 10 } },
    [['compaction.reserved', 'compaction.auto keeps nothing free']],
  ],
  [
    'a small model that nobody asks',
    { small_model: 'home/small', agent: { title: { disable: true } } },
    [['small_model', 'agent.title says which model writes titles, or that none does']],
  ],
  [
    'a small model beside one of the title',
    { small_model: 'home/small', agent: { title: { model: 'home/small' } } },
    [['small_model', 'agent.title says which model writes titles, or that none does']],
  ],
  [
    'rules that cover no call',
    {
      mcp: { 'a.b': { type: 'local', command: ['x'], enabled: false } },
      permission: {
        bash: 'deny',
        'bash*': 'deny',
        a_b_write: { '/etc/*': 'deny', '*': 'ask', '?': 'ask' },
        task: { 'general*': 'deny' },
        '*': { general: 'ask' },
      },
      agent: { build: { permission: { doom_loop: { x: 'ask' }, 'a_b_*': { x: 'allow' } } } },
    },
    [
      ['permission.bash', NO_TOOL],
      ['permission.a_b_write./etc/*', NO_PATTERN],
      ['agent.build.permission.doom_loop', NO_TOOL],
      ['agent.build.permission.a_b_*.x', NO_PATTERN],
    ],
  ],
];

describe('a setting that nothing comes of, beside the others,', (check) => {
  for (const [what, written, lines] of IDLE) {
    check(`is reported: ${what}`, () => {
      const { warnings } = configOf(written);
      assert.equal(
        warnings,
        lines.map(([where, why]) => `agent.json: ${where}: without effect: ${why}`),
      );
      assert.not.match(warnings.join(), CANARY);
    });
  }

  check('is reported with the source that it comes from', () => {
    const { warnings, redacted } = configOf(
      {},
      { AGENT_CONFIG_CONTENT: '{"permission":{"bash":"deny"},"share":"auto"}' },
    );
    assert.is(redacted.share, 'disabled');
    assert.equal(warnings, [
      'AGENT_CONFIG_CONTENT: share: read for compatibility, without effect: sessions are not shared',
      `AGENT_CONFIG_CONTENT: permission.bash: without effect: ${NO_TOOL}`,
    ]);
  });
});
