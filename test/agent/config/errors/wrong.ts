import { type Json, LEAST } from '../world.ts';

/** A configuration with this model. */
export const model = (more: Json): Json => ({
  provider: { home: { ...LEAST.provider.home, models: { small: more } } },
});

/** A configuration with this in its provider. */
export const provider = (more: Json): Json => ({ provider: { home: { ...LEAST.provider.home, ...more } } });
/** A configuration with these options of its provider. */
export const options = (more: Json): Json => provider({ options: { baseURL: 'http://127.0.0.1:1', ...more } });
/** A configuration with this agent. */
export const agent = (more: unknown): Json => ({ agent: { helper: more } });
/** A configuration with this tool server on the machine. */
export const local = (more: Json): Json => ({ mcp: { tools: { type: 'local', command: ['node'], ...more } } });
/** A configuration with this tool server elsewhere. */
export const remote = (more: Json): Json => ({
  mcp: { tools: { type: 'remote', url: 'https://t.test/mcp', ...more } },
});

/** A configuration with tool servers of these ids. */
export const servers = (...ids: readonly string[]): Json => ({
  mcp: Object.fromEntries(ids.map((id) => [id, { type: 'remote', url: 'https://t.test', enabled: false }])),
});

const SMALL = 'provider.home.models.small';

/** What is written, and the one line that it is refused with. */
export const WRONG: readonly (readonly [written: Json, problem: string])[] = [
  [{ $schema: 1 }, '$schema: expected a text'],
  [{ model: 1 }, 'model: expected a text'],
  [{ model: 'small' }, 'model: expected <provider>/<model key>'],
  [{ small_model: null }, 'small_model: expected a text'],
  [{ default_agent: '' }, 'default_agent: expected a text that is not empty'],
  [{ provider: 'home' }, 'provider: expected an object'],
  [{ provider: ['home'] }, 'provider: expected an object'],
  [{ agent: [] }, 'agent: expected an object'],
  [{ mcp: [{}] }, 'mcp: expected an object'],
  [{ permission: [] }, 'permission: expected an object'],
  [{ permission: { bash: ['deny'] } }, 'permission.bash: expected an object'],
  [{ permission: 'never' }, 'permission: expected allow | ask | deny'],
  [{ permission: true }, 'permission: expected allow | ask | deny'],
  [{ permission: { bash: 'Allow' } }, 'permission.bash: expected allow | ask | deny'],
  [{ permission: { bash: { 'ls *': false } } }, 'permission.bash["ls *"]: expected allow | ask | deny'],
  [{ permission: { '': 'ask' } }, 'permission[""]: expected a pattern of 1 to 1000 characters'],
  [{ permission_timeout: 0 }, 'permission_timeout: expected a whole number from 1 to 86400000'],
  [{ permission_timeout: '300' }, 'permission_timeout: expected a whole number from 1 to 86400000'],
  [{ turn_timeout: false }, 'turn_timeout: expected a whole number from 1 to 86400000'],
  [{ steps: 1.5 }, 'steps: expected a whole number from 1 to 10000'],
  [{ steps: 0 }, 'steps: expected a whole number from 1 to 10000'],
  [{ compaction: true }, 'compaction: expected an object'],
  [{ compaction: { auto: 'yes' } }, 'compaction.auto: expected true or false'],
  [{ compaction: { reserved: -1 } }, 'compaction.reserved: expected a whole number from 0 to 1000000000'],
  [{ tool_output: { max_lines: 0 } }, 'tool_output.max_lines: expected a whole number from 1 to 1000000'],
  [{ tool_output: { max_bytes: '1k' } }, 'tool_output.max_bytes: expected a whole number from 1 to 100000000'],
  [{ instructions: 'RULES.md' }, 'instructions: expected a list'],
  [{ instructions: [1] }, 'instructions[0]: expected a text'],
  [{ instructions: ['no.md'] }, 'instructions[0]: expected the path of a file that can be read'],

  [
    provider({ npm: '@ai-sdk/google' }),
    'provider.home.npm: expected @ai-sdk/openai-compatible | @ai-sdk/openai | @ai-sdk/anthropic',
  ],
  [provider({ name: 1 }), 'provider.home.name: expected a text'],
  [
    provider({ options: {} }),
    'provider.home.options.baseURL: expected an address, because @ai-sdk/openai-compatible has none of its own',
  ],
  [
    provider({ options: {}, npm: '@ai-sdk/openai' }),
    'provider.home.options.apiKey: expected a key, such as "{env:NAME_OF_A_VARIABLE}"',
  ],
  [options({ apikey: 'k' }), 'provider.home.options: unknown name "apikey", the nearest known one is "apiKey"'],
  [options({ base_url: 'x' }), 'provider.home.options: unknown name "base_url", the nearest known one is "baseURL"'],
  [options({ timout: 1 }), 'provider.home.options: unknown name "timout", the nearest known one is "timeout"'],
  [provider({ options: [] }), 'provider.home.options: expected an object'],
  [
    provider({ api: 'home' }),
    'provider.home.api: expected an address such as http://host:port/path, without user and password',
  ],
  [
    options({ baseURL: 'home' }),
    'provider.home.options.baseURL: expected an address such as http://host:port/path, without user and password',
  ],
  [
    options({ baseURL: 'ftp://home' }),
    'provider.home.options.baseURL: expected an address such as http://host:port/path, without user and password',
  ],
  [
    options({ baseURL: 'http://u:p@home' }),
    'provider.home.options.baseURL: expected an address such as http://host:port/path, without user and password',
  ],
  [options({ baseURL: 'http://home/?a=b' }), 'provider.home.options.baseURL: expected an address without ? and #'],
  [
    options({ apiKey: 'two words' }),
    'provider.home.options.apiKey: expected a key of 1 to 4096 printable characters without blanks',
  ],
  [
    options({ apiKey: 7 }),
    'provider.home.options.apiKey: expected a key of 1 to 4096 printable characters without blanks',
  ],
  [options({ headers: { 'a b': 'c' } }), 'provider.home.options.headers["a b"]: expected the name of a header'],
  [options({ headers: { a: 'b\nc' } }), 'provider.home.options.headers.a: expected a header of one line, in Latin-1'],
  [options({ headers: { a: 1 } }), 'provider.home.options.headers.a: expected a text'],
  [options({ headers: ['a: b'] }), 'provider.home.options.headers: expected an object'],
  [options({ timeout: true }), 'provider.home.options.timeout: expected a whole number from 1 to 86400000'],
  [options({ headerTimeout: -1 }), 'provider.home.options.headerTimeout: expected a whole number from 1 to 86400000'],
  [options({ chunkTimeout: '1s' }), 'provider.home.options.chunkTimeout: expected a whole number from 1 to 86400000'],
  [provider({ models: {} }), 'provider.home.models: expected at least one model, because none is known without it'],
  [{ provider: {} }, 'provider: expected at least one provider with a model'],
  [provider({ models: ['small'] }), 'provider.home.models: expected an object'],
  [
    { ...provider({ models: { 'a b': {}, small: {} } }), model: 'home/small' },
    'provider.home.models["a b"]: expected a key of 1 to 200 characters, without blanks',
  ],
  [
    { provider: { ...LEAST.provider, 'a/b': LEAST.provider.home }, model: 'home/small' },
    'provider.a/b: expected an id of 1 to 64 characters, without a slash',
  ],

  [model({ id: 1 }), `${SMALL}.id: expected a text`],
  [model({ name: false }), `${SMALL}.name: expected a text`],
  [model({ limit: 4096 }), `${SMALL}.limit: expected an object`],
  [model({ limit: { context: '128k' } }), `${SMALL}.limit.context: expected a whole number from 0 to 1000000000`],
  [model({ limit: { output: 0.5 } }), `${SMALL}.limit.output: expected a whole number from 0 to 1000000000`],
  [model({ cost: { input: -1 } }), `${SMALL}.cost.input: expected a number from 0 to 1000000`],
  [model({ options: 'store' }), `${SMALL}.options: expected an object`],
  [model({ variants: ['low'] }), `${SMALL}.variants: expected an object`],
  [model({ variants: { low: 'low' } }), `${SMALL}.variants.low: expected an object`],
  [model({ variants: { low: { disabled: 1 } } }), `${SMALL}.variants.low.disabled: expected true or false`],
  [model({ reasoning: 'merge' }), `${SMALL}.reasoning: expected true, false or "split"`],
  [model({ reasoning: 1 }), `${SMALL}.reasoning: expected true or false`],
  [model({ temperature: 0.5 }), `${SMALL}.temperature: expected true or false`],
  [model({ tool_call: 'no' }), `${SMALL}.tool_call: expected true or false`],
  [model({ attachment: 1 }), `${SMALL}.attachment: expected true or false`],
  [
    model({ modalities: { input: ['sound'] } }),
    `${SMALL}.modalities.input[0]: expected text | audio | image | video | pdf`,
  ],
  [model({ modalities: { output: 'text' } }), `${SMALL}.modalities.output: expected a list`],
  [model({ headers: { a: null } }), `${SMALL}.headers.a: expected a text`],

  [agent('x'), 'agent.helper: expected an object'],
  [
    agent({ model: 'home/smal' }),
    'agent.helper.model: expected a model that is configured under provider, the nearest one is "home/small"',
  ],
  [agent({ variant: 1 }), 'agent.helper.variant: expected a text'],
  [agent({ model: 'home/small', variant: 'hihg' }), 'agent.helper.variant: expected a variant of its model'],
  [agent({ temperature: 'hot' }), 'agent.helper.temperature: expected a number from 0 to 10'],
  [agent({ top_p: 2 }), 'agent.helper.top_p: expected a number from 0 to 1'],
  [agent({ prompt: ['a'] }), 'agent.helper.prompt: expected a text'],
  [agent({ description: 1 }), 'agent.helper.description: expected a text'],
  [agent({ mode: 'main' }), 'agent.helper.mode: expected primary | subagent | all'],
  [agent({ hidden: 1 }), 'agent.helper.hidden: expected true or false'],
  [agent({ disable: 'yes' }), 'agent.helper.disable: expected true or false'],
  [agent({ color: 0xff }), 'agent.helper.color: expected a text'],
  [agent({ steps: 100_000 }), 'agent.helper.steps: expected a whole number from 1 to 10000'],
  [agent({ options: true }), 'agent.helper.options: expected an object'],
  [agent({ permission: { bash: 'maybe' } }), 'agent.helper.permission.bash: expected allow | ask | deny'],

  [{ mcp: { tools: {} } }, 'mcp.tools.type: expected local | remote'],
  [{ mcp: { tools: { type: 'http', url: 'https://t.test' } } }, 'mcp.tools.type: expected local | remote'],
  [{ mcp: { tools: { type: 'remote' } } }, 'mcp.tools.url: expected a value'],
  [{ mcp: { tools: { type: 'local' } } }, 'mcp.tools.command: expected a value'],
  [local({ command: 'node' }), 'mcp.tools.command: expected a list'],
  [local({ command: [] }), 'mcp.tools.command: expected the program, and behind it its arguments'],
  [local({ command: ['', 'x'] }), 'mcp.tools.command: expected the program, and behind it its arguments'],
  [local({ command: ['node', 1] }), 'mcp.tools.command[1]: expected a text'],
  [local({ cwd: 1 }), 'mcp.tools.cwd: expected a text'],
  [local({ environment: { A: 1 } }), 'mcp.tools.environment.A: expected a text'],
  [local({ environment: { 'A=B': 'c' } }), 'mcp.tools.environment["A=B"]: expected the name of a variable'],
  [local({ enabled: 'no' }), 'mcp.tools.enabled: expected true or false'],
  [local({ timeout: 0.5 }), 'mcp.tools.timeout: expected a whole number from 1 to 86400000'],
  [
    remote({ url: 'file:///etc/passwd' }),
    'mcp.tools.url: expected an address such as http://host:port/path, without user and password',
  ],
  [
    remote({ url: 'stdio' }),
    'mcp.tools.url: expected an address such as http://host:port/path, without user and password',
  ],
  [remote({ headers: { a: 'b\r\nc: d' } }), 'mcp.tools.headers.a: expected a header of one line, in Latin-1'],
  [remote({ oauth: 'auto' }), 'mcp.tools.oauth: expected an object'],
  [servers('a.b', 'a_b'), 'mcp.a_b: expected an id that gives no tool a name that "a.b" could give, such as a_b_x'],
  [
    servers('relay', 'relay_admin'),
    'mcp.relay_admin: expected an id that gives no tool a name that "relay" could give, such as relay_admin_x',
  ],
  [
    servers('relay admin', 'other', 'relay'),
    'mcp.relay: expected an id that gives no tool a name that "relay admin" could give, such as relay_admin_x',
  ],
  [servers('a_', 'a'), 'mcp.a: expected an id that gives no tool a name that "a_" could give, such as a__x'],

  [
    { model: 'home/smal' },
    'model: expected a model that is configured under provider, the nearest one is "home/small"',
  ],
  [
    { small_model: 'hom/small' },
    'small_model: expected a model that is configured under provider, the nearest one is "home/small"',
  ],
  [
    provider({ models: { small: {}, large: {} } }),
    'model: expected <provider>/<model key>, because there are several models to choose from',
  ],
  [
    { default_agent: 'biuld' },
    'default_agent: expected an agent that is not disabled, not hidden and no subagent: "build", "plan"',
  ],
  [
    { default_agent: 'title' },
    'default_agent: expected an agent that is not disabled, not hidden and no subagent: "build", "plan"',
  ],
  [
    { default_agent: 'general' },
    'default_agent: expected an agent that is not disabled, not hidden and no subagent: "build", "plan"',
  ],
  [
    { default_agent: 'plan', agent: { plan: { disable: true } } },
    'default_agent: expected an agent that is not disabled, not hidden and no subagent: "build"',
  ],
  [
    { agent: { build: { disable: true }, plan: { mode: 'subagent' } } },
    'agent: expected an agent that is not disabled, not hidden and no subagent',
  ],
];

/** A name that nothing knows, where it stands, and what is told of it. */
export const UNKNOWN: readonly (readonly [written: Json, where: string, name: string, nearest: string])[] = [
  [{ permisson: {} }, 'top level', 'permisson', 'permission'],
  [{ mode: {} }, 'top level', 'mode', 'agent'],
  [{ toString: {} }, 'top level', 'toString', 'command'],
  [{ tools: {} }, 'top level', 'tools', 'permission'],
  [provider({ modles: {} }), 'provider.home', 'modles', 'models'],
  [model({ limits: {} }), SMALL, 'limits', 'limit'],
  [model({ limit: { contxt: 1 } }), `${SMALL}.limit`, 'contxt', 'context'],
  [model({ cost: { cacheRead: 1 } }), `${SMALL}.cost`, 'cacheRead', 'cache_read'],
  [model({ modalities: { inputs: [] } }), `${SMALL}.modalities`, 'inputs', 'input'],
  [agent({ maxSteps: 5 }), 'agent.helper', 'maxSteps', 'steps'],
  [agent({ tools: { bash: false } }), 'agent.helper', 'tools', 'permission'],
  [agent({ desciption: 'x' }), 'agent.helper', 'desciption', 'description'],
  [local({ env: {} }), 'mcp.tools', 'env', 'environment'],
  [local({ url: 'https://t.test' }), 'mcp.tools', 'url', 'cwd'],
  [remote({ header: {} }), 'mcp.tools', 'header', 'headers'],
  [{ compaction: { atuo: true } }, 'compaction', 'atuo', 'auto'],
  [{ tool_output: { lines: 1 } }, 'tool_output', 'lines', 'max_lines'],
];
