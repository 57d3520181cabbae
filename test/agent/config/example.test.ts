import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import * as assert from 'uvu/assert';
import type { AgentServerConfig } from '../../../src/agent/config/types.ts';
import { createAgentList, createProviderList } from '../../../src/agent/config/views.ts';

import { actionFor, isToolHidden } from '../../../src/agent/protocol/permission-rules.ts';
import { ConfigError } from '../../../src/core/config.ts';
import { describe, thorough } from '../../check.ts';
import { problemsFrom, readFrom } from './world.ts';

const TEXT = readFileSync(resolve(import.meta.dirname, '../../../agent.example.json'), 'utf8');
const NEEDED = {
  MODEL_API_KEY: 'canary-model-key',
  RELAY_BASE_URL: 'http://relay.apps.svc.cluster.local:8080',
  RELAY_ALLOWED_HOST: 'relay.apps.svc.cluster.local',
  RELAY_ADMIN_API_KEY: 'canary-admin-key',
};
const readText = (text: string, variables = {}): AgentServerConfig =>
  readFrom({ ...NEEDED, ...variables }, { './agent.json': text });
const config = readText(TEXT);

const READING = ['describe', 'health', 'read', 'find_user', 'preview_recharge', 'model_control_options'];
const CHANGING = ['recharge', 'update_user_limits', 'set_account_schedulable'];
const rulesOf = (agent: string) => config.agents.get(agent)?.rules ?? [];
const rulingOf = (agent: string, tool: string) => actionFor(rulesOf(agent), `relay-admin_${tool}`, '*');

describe('the example configuration', (check) => {
  check('needs these variables and no others', () => {
    assert.equal(config.warnings, []);
    assert.equal(
      problemsFrom(() => readFrom({}, { './agent.json': TEXT })).map(
        (problem) => /"(\w+)" is not set$/.exec(problem)?.[1],
      ),
      Object.keys(NEEDED),
    );
  });

  check('lets the maintainer read, and asks before it changes anything', () => {
    assert.equal(
      READING.map((tool) => rulingOf('maintainer', tool)),
      Array(6).fill('allow'),
    );
    assert.equal(
      CHANGING.map((tool) => rulingOf('maintainer', tool)),
      Array(3).fill('ask'),
    );
    for (const tool of [...READING, ...CHANGING])
      assert.not(isToolHidden(rulesOf('maintainer'), `relay-admin_${tool}`));
  });

  for (const agent of ['build', 'plan', 'general', 'title', 'compaction']) {
    check(`denies the agent ${agent} all nine, and does not even show them to it`, () => {
      const tools = [...READING, ...CHANGING];
      assert.equal(
        tools.map((tool) => rulingOf(agent, tool)),
        Array(9).fill('deny'),
      );
      for (const tool of tools) assert.ok(isToolHidden(rulesOf(agent), `relay-admin_${tool}`));
    });
  }

  check('denies everyone a tool that no one knows of yet', () => {
    for (const agent of config.agents.keys()) assert.is(rulingOf(agent, 'rotate_credentials'), 'deny');
  });

  check('has build and plan hand work to the maintainer and to no one else', () => {
    for (const agent of ['build', 'plan']) {
      assert.is(actionFor(rulesOf(agent), 'task', 'maintainer'), 'allow');
      assert.is(actionFor(rulesOf(agent), 'task', 'general'), 'deny');
      assert.not(isToolHidden(rulesOf(agent), 'task'));
      assert.match(config.agents.get(agent)?.prompt ?? '', /"maintainer" with the tool "task"/);
    }
    assert.ok(isToolHidden(rulesOf('maintainer'), 'task'));
    assert.ok((config.agents.get('maintainer')?.description ?? '').length > 40);
    assert.is(config.agents.get('maintainer')?.mode, 'all');
  });

  check('starts the relay tools beside the server, and has time for what they take', () => {
    assert.equal(config.mcp.get('relay-admin'), {
      name: 'relay-admin',
      isEnabled: true,
      timeoutMs: 40_000,
      type: 'local',
      command: ['gatehouse', 'relay-admin'],
      cwd: undefined,
      environment: {
        RELAY_BASE_URL: NEEDED.RELAY_BASE_URL,
        RELAY_ALLOWED_HOST: NEEDED.RELAY_ALLOWED_HOST,
        RELAY_ADMIN_API_KEY: NEEDED.RELAY_ADMIN_API_KEY,
        RELAY_TIMEOUT_MS: '30000',
        RELAY_MAX_RECHARGE: '10000',
      },
    });
    assert.is(config.mcp.get('example-remote')?.isEnabled, false);
  });

  check('shows neither key', () => {
    const shown = JSON.stringify([config.redacted, createProviderList(config), createAgentList(config)]);
    assert.match(shown, /"relay-admin"/);
    assert.not.match(shown, /canary/);
  });
});

/** Numbers that look drawn by lot and are the same every time. */
const createDice = (seed: number) => {
  let state = seed;
  return (sides: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * sides);
  };
};
type Dice = ReturnType<typeof createDice>;

const FRAGMENTS = [
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  '"',
  '\\',
  '//',
  '/*',
  '*/',
  '\n',
  '\0',
  '-',
  '1e999',
  'null',
  'true',
  '{env:X}',
  '{file:',
  '"__proto__":',
  '\uFEFF',
  '😀',
  '\ud800',
];
const VALUES: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1e308,
  '',
  'x',
  '/',
  '{env:GONE}',
  '{file:gone}',
  [],
  {},
  [[]],
  { a: { b: {} } },
  ['*'],
  'x'.repeat(300),
  '\0',
  '__proto__',
];
const NAMES = [
  'model',
  'provider',
  'models',
  'permission',
  'toString',
  'valueOf',
  '',
  ' ',
  'a/b',
  '*',
  'type',
  'url',
  'mode',
  'hasOwnProperty',
  'length',
  '0',
];

const scrambled = (text: string, dice: Dice): string => {
  const at = dice(text.length);
  const cut = dice(3) === 0 ? dice(40) : dice(2);
  return `${text.slice(0, at)}${FRAGMENTS[dice(FRAGMENTS.length)]}${text.slice(at + cut)}`;
};

/** Changes one thing somewhere in a value: another value, another name, one thing less, one thing more. */
const changed = (value: unknown, dice: Dice): unknown => {
  if (typeof value !== 'object' || value === null || dice(5) === 0) return VALUES[dice(VALUES.length)];
  const entries = Object.entries(value);
  const [name = '', inner] = entries[dice(entries.length)] ?? [];
  const others = entries.filter(([other]) => other !== name);
  const more = [
    [[name, changed(inner, dice)]],
    [[name, changed(inner, dice)]],
    [[NAMES[dice(NAMES.length)], inner]],
    [],
    [
      [name, inner],
      [NAMES[dice(NAMES.length)], VALUES[dice(VALUES.length)]],
    ],
  ][dice(5)];
  return Array.isArray(value)
    ? [...others, ...(more ?? [])].map(([, item]) => item)
    : Object.fromEntries([...others, ...(more ?? [])]);
};

const LINE = /^(?:agent\.json|AGENT_CONFIG_CONTENT)(?::\d+:\d+)?: (?:\S.*: )?(?:expected|unknown name) .+$/su;

/** Reads a configuration that may be anything: it is taken, or refused in lines of ours. */
const isTaken = (read: () => AgentServerConfig): boolean => {
  try {
    const taken = read();
    assert.not.match(JSON.stringify([taken.redacted, createProviderList(taken), createAgentList(taken)]), /canary/);
    return true;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    assert.ok(error.problems.length > 0);
    for (const problem of error.problems) assert.match(problem, LINE);
    assert.not.match(error.message, /canary/);
    return false;
  }
};

describe('any configuration at all', (check) => {
  const ROUNDS = thorough(200, 5000);

  check('that is the example with other characters in it is taken, or refused in words', () => {
    const dice = createDice(20_261_121);
    let taken = 0;
    for (let round = 0; round < ROUNDS; round++) {
      let text = TEXT;
      for (let times = dice(3); times >= 0; times--) text = scrambled(text, dice);
      if (isTaken(() => readText(text))) taken += 1;
    }
    assert.ok(taken > ROUNDS / 50 && taken < ROUNDS - ROUNDS / 50, `${taken} taken`);
  });

  check('that is the example with other values and names in it is taken, or refused in words', () => {
    const dice = createDice(7);
    const example: unknown = JSON.parse(TEXT);
    let taken = 0;
    for (let round = 0; round < ROUNDS; round++) {
      let value = example;
      for (let times = dice(4); times >= 0; times--) value = changed(value, dice);
      const text = JSON.stringify(value);
      const over = dice(2) === 0 ? {} : { AGENT_CONFIG_CONTENT: JSON.stringify(changed(example, dice)) };
      if (isTaken(() => readText(text, over))) taken += 1;
    }
    assert.ok(taken > ROUNDS / 50 && taken < ROUNDS - ROUNDS / 50, `${taken} taken`);
  });
});
