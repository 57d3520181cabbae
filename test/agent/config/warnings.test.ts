import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { configOf, type Json } from './world.ts';

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
