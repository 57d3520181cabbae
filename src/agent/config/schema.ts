import * as v from 'valibot';
import { isRecord } from '../../core/json.ts';
import { Providers } from './schema-provider.ts';
import {
  Address,
  Anything,
  Duration,
  Headers,
  Id,
  inert,
  ModelName,
  NumberFrom,
  OneOfWords,
  PlainText,
  Switch,
  Text,
  WholeFrom,
} from './schema-values.ts';

/** Longer patterns are mistakes, and cost time at every call. */
const PATTERN_LIMIT_CHARS = 1000;
const patternRule = `expected a pattern of 1 to ${PATTERN_LIMIT_CHARS} characters`;

const Pattern = v.pipe(v.string(), v.minLength(1, patternRule), v.maxLength(PATTERN_LIMIT_CHARS, patternRule));
const Action = OneOfWords(['allow', 'ask', 'deny']);
const isTable = (value: unknown): boolean => typeof value === 'object' && value !== null;

const ByPattern = v.record(Pattern, Action);
const ByTool = v.record(
  Pattern,
  v.lazy((value) => (isTable(value) ? ByPattern : Action)),
);

/** One action for all tools, or an action by tool, or by tool and pattern. Their order counts. */
export const Permission = v.lazy((value) => (isTable(value) ? ByTool : Action));

/** How many answers of a model one prompt may take. */
export const Steps = WholeFrom(1, 10_000);

const Agent = v.object({
  model: v.optional(ModelName),
  variant: v.optional(PlainText),
  temperature: v.optional(NumberFrom(0, 10)),
  top_p: v.optional(NumberFrom(0, 1)),
  prompt: v.optional(Text),
  description: v.optional(Text),
  mode: v.optional(OneOfWords(['primary', 'subagent', 'all'])),
  hidden: v.optional(Switch),
  disable: v.optional(Switch),
  color: v.optional(Text),
  steps: v.optional(Steps),
  options: v.optional(Anything),
  permission: v.optional(Permission),
});

/** `agent`: who answers. What is none of these settings belongs under `options`. */
export const Agents = v.record(Id, Agent);
export type AgentSettings = v.InferOutput<typeof Agent>;

const Environment = v.record(
  v.pipe(
    v.string(),
    v.check((name) => /^[^=\0]+$/.test(name), 'expected the name of a variable'),
  ),
  v.pipe(
    Text,
    v.check((text) => !text.includes('\0'), 'expected a text without NUL'),
  ),
);

const Local = v.object({
  type: v.literal('local'),
  command: v.pipe(
    v.array(
      v.pipe(
        Text,
        v.check((text) => !text.includes('\0'), 'expected a text without NUL'),
      ),
    ),
    v.check(([program = '']) => program !== '', 'expected the program, and behind it its arguments'),
  ),
  cwd: v.optional(PlainText),
  environment: v.optional(Environment),
  enabled: v.optional(Switch),
  timeout: v.optional(Duration),
});

const NoOAuth = inert('there is no OAuth here, credentials go under headers');
/** `false` is what holds here anyway. */
const OAuth = v.lazy((value) => (value === true || isRecord(value) ? NoOAuth : value === false ? Switch : Anything));

const Remote = v.object({
  type: v.literal('remote'),
  url: Address,
  headers: v.optional(Headers),
  oauth: v.optional(OAuth),
  enabled: v.optional(Switch),
  timeout: v.optional(Duration),
});

const Server = v.variant('type', [Local, Remote], ({ path }) =>
  path === undefined ? 'expected an object' : 'expected local | remote',
);

/** `mcp`: tool servers, started here or reached over HTTP. */
export const McpServers = v.record(Id, Server);
export type McpSettings = v.InferOutput<typeof Local> | v.InferOutput<typeof Remote>;

const NOT_SHARED = 'sessions are not shared';
const NO_TERMINAL = 'the server has no terminal interface';
const NO_REFERENCES = 'no references are read';
const EVERY_PROVIDER = 'the providers are those under provider';
const WHOLE_SUMMARY = 'a summary takes the place of all that was said before';

/** The startup configuration, with every name that it may hold. `unfitNames` refuses the others. */
export const ConfigFile = v.object({
  $schema: v.optional(Text),
  model: v.optional(ModelName),
  small_model: v.optional(ModelName),
  default_agent: v.optional(PlainText),
  provider: v.optional(Providers),
  agent: v.optional(Agents),
  mcp: v.optional(McpServers),
  permission: v.optional(Permission),
  permission_timeout: v.optional(Duration),
  turn_timeout: v.optional(Duration),
  steps: v.optional(Steps),
  compaction: v.optional(
    v.object({
      auto: v.optional(Switch),
      reserved: v.optional(WholeFrom(0, 1_000_000_000)),
      prune: inert('outputs of tools stay in the conversation'),
      tail_turns: inert(WHOLE_SUMMARY),
      preserve_recent_tokens: inert(WHOLE_SUMMARY),
    }),
  ),
  tool_output: v.optional(
    v.object({
      max_lines: v.optional(WholeFrom(1, 1_000_000)),
      max_bytes: v.optional(WholeFrom(1, 100_000_000)),
    }),
  ),
  instructions: v.optional(v.array(PlainText)),
  username: inert('users have no names here'),
  share: inert(NOT_SHARED),
  autoshare: inert(NOT_SHARED),
  autoupdate: inert('this server never updates itself'),
  theme: inert(NO_TERMINAL),
  snapshot: inert('no agent here changes files, so none are recorded'),
  lsp: inert('no language servers are started'),
  formatter: inert('no files are formatted'),
  plugin: inert('no plugins are loaded'),
  keybinds: inert(NO_TERMINAL),
  tui: inert(NO_TERMINAL),
  watcher: inert('no files are watched'),
  experimental: inert('nothing of it is built'),
  server: inert('HOST, PORT and AGENT_SERVER_PASSWORD say where it listens and to whom'),
  command: inert('there are no commands'),
  skills: inert('there are no skills'),
  reference: inert(NO_REFERENCES),
  references: inert(NO_REFERENCES),
  layout: inert(NO_TERMINAL),
  attachment: inert('attachments go to the model as they are'),
  enterprise: inert('no enterprise service is asked'),
  logLevel: inert('LOG_LEVEL says what is logged'),
  shell: inert('no shell is run'),
  subagent_depth: inert('work is handed on three times at most'),
  enabled_providers: inert(EVERY_PROVIDER),
  disabled_providers: inert(EVERY_PROVIDER),
});
export type ConfigSettings = v.InferOutput<typeof ConfigFile>;
