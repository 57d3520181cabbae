import * as v from 'valibot';
import { isRecord } from '../../core/json.ts';
import { Providers } from './schema-provider.ts';
import {
  Address,
  Anything,
  BooleanSetting,
  Duration,
  Headers,
  IdSetting,
  IntegerFrom,
  ModelKey,
  ModelNameSetting,
  NumberFrom,
  OneOfSetting,
  PlainText,
  TextSetting,
  unsupported,
} from './schema-values.ts';

/** Longer patterns are mistakes, and slow down every call. */
const PATTERN_LIMIT_CHARS = 1000;
const patternRule = `expected a pattern of 1 to ${PATTERN_LIMIT_CHARS} characters`;

const Pattern = v.pipe(v.string(), v.minLength(1, patternRule), v.maxLength(PATTERN_LIMIT_CHARS, patternRule));
const Action = OneOfSetting(['allow', 'ask', 'deny']);
const isTable = (value: unknown): boolean => typeof value === 'object' && value !== null;

const ByPattern = v.record(Pattern, Action);
const ByTool = v.record(
  Pattern,
  v.lazy((value) => (isTable(value) ? ByPattern : Action)),
);

/** One action for all tools, or an action by tool, or by tool and pattern. Later rules override earlier ones. */
const Permission = v.lazy((value) => (isTable(value) ? ByTool : Action));

/** The most model calls for one prompt. */
const Steps = IntegerFrom(1, 10_000);

const Agent = v.object({
  model: v.optional(ModelNameSetting),
  variant: v.optional(PlainText),
  temperature: v.optional(NumberFrom(0, 10)),
  top_p: v.optional(NumberFrom(0, 1)),
  prompt: v.optional(TextSetting),
  description: v.optional(TextSetting),
  mode: v.optional(OneOfSetting(['primary', 'subagent', 'all'])),
  hidden: v.optional(BooleanSetting),
  disable: v.optional(BooleanSetting),
  color: v.optional(TextSetting),
  steps: v.optional(Steps),
  options: v.optional(Anything),
  permission: v.optional(Permission),
});

/** `agent`: the agents. Other options of the model belong under `options`. */
const Agents = v.record(IdSetting, Agent);
export type AgentEntrySettings = v.InferOutput<typeof Agent>;

const Command = v.object({
  template: v.pipe(
    TextSetting,
    v.check((text) => text.trim() !== '', 'expected a text that is not blank'),
  ),
  description: v.optional(TextSetting),
  agent: v.optional(PlainText),
  model: v.optional(ModelNameSetting),
  variant: v.optional(PlainText),
  subtask: unsupported('a command is a prompt of its own session; an agent hands work on with task'),
});
/** `command`: prompts that clients send by name. */
const Commands = v.record(ModelKey, Command);
export type CommandEntrySettings = v.InferOutput<typeof Command>;

const Environment = v.record(
  v.pipe(
    v.string(),
    v.check((name) => /^[^=\0]+$/.test(name), 'expected the name of a variable'),
  ),
  v.pipe(
    TextSetting,
    v.check((text) => !text.includes('\0'), 'expected a text without NUL'),
  ),
);

const Local = v.object({
  type: v.literal('local'),
  command: v.pipe(
    v.array(
      v.pipe(
        TextSetting,
        v.check((text) => !text.includes('\0'), 'expected a text without NUL'),
      ),
    ),
    v.check(([program = '']) => program !== '', 'expected the program, and behind it its arguments'),
  ),
  cwd: v.optional(PlainText),
  environment: v.optional(Environment),
  enabled: v.optional(BooleanSetting),
  timeout: v.optional(Duration),
});

const NoOAuth = unsupported('there is no OAuth here, credentials go under headers');
/** `false` is accepted without a warning: there is no OAuth here anyway. */
const OAuth = v.lazy((value) =>
  value === true || isRecord(value) ? NoOAuth : value === false ? BooleanSetting : Anything,
);

const Remote = v.object({
  type: v.literal('remote'),
  url: Address,
  headers: v.optional(Headers),
  oauth: v.optional(OAuth),
  enabled: v.optional(BooleanSetting),
  timeout: v.optional(Duration),
});

const Server = v.variant('type', [Local, Remote], ({ path }) =>
  path === undefined ? 'expected an object' : 'expected local | remote',
);

/** `mcp`: tool servers, started here or reached over HTTP. */
const McpServersSetting = v.record(IdSetting, Server);
export type McpSettings = v.InferOutput<typeof Local> | v.InferOutput<typeof Remote>;

const NOT_SHARED = 'sessions are not shared';
const NO_TERMINAL = 'the server has no terminal interface';
const NO_REFERENCES = 'no references are read';
const EVERY_PROVIDER = 'the providers are those under provider';
const WHOLE_SUMMARY = 'a summary replaces the whole conversation before it';

/** The startup configuration with all its names. `checkNames` refuses other names. */
export const ConfigFile = v.object({
  $schema: v.optional(TextSetting),
  model: v.optional(ModelNameSetting),
  small_model: v.optional(ModelNameSetting),
  default_agent: v.optional(PlainText),
  provider: v.optional(Providers),
  agent: v.optional(Agents),
  command: v.optional(Commands),
  mcp: v.optional(McpServersSetting),
  permission: v.optional(Permission),
  permission_timeout: v.optional(Duration),
  permission_once_only: v.optional(v.array(Pattern)),
  turn_timeout: v.optional(Duration),
  steps: v.optional(Steps),
  compaction: v.optional(
    v.object({
      auto: v.optional(BooleanSetting),
      reserved: v.optional(IntegerFrom(0, 1_000_000_000)),
      prune: unsupported('outputs of tools stay in the conversation'),
      tail_turns: unsupported(WHOLE_SUMMARY),
      preserve_recent_tokens: unsupported(WHOLE_SUMMARY),
    }),
  ),
  tool_output: v.optional(
    v.object({
      max_lines: v.optional(IntegerFrom(1, 1_000_000)),
      max_bytes: v.optional(IntegerFrom(1, 100_000_000)),
    }),
  ),
  instructions: v.optional(v.array(PlainText)),
  username: unsupported('users have no names here'),
  share: unsupported(NOT_SHARED),
  autoshare: unsupported(NOT_SHARED),
  autoupdate: unsupported('this server never updates itself'),
  theme: unsupported(NO_TERMINAL),
  snapshot: unsupported('no agent here changes files, so none are recorded'),
  lsp: unsupported('no language servers are started'),
  formatter: unsupported('no files are formatted'),
  plugin: unsupported('no plugins are loaded'),
  keybinds: unsupported(NO_TERMINAL),
  tui: unsupported(NO_TERMINAL),
  watcher: unsupported('no files are watched'),
  experimental: unsupported('nothing of it is built'),
  server: unsupported('HOST, PORT and AGENT_SERVER_PASSWORD say where it listens and to whom'),
  skills: unsupported('there are no skills'),
  reference: unsupported(NO_REFERENCES),
  references: unsupported(NO_REFERENCES),
  layout: unsupported(NO_TERMINAL),
  attachment: unsupported('attachments go to the model as they are'),
  enterprise: unsupported('no enterprise service is asked'),
  logLevel: unsupported('LOG_LEVEL says what is logged'),
  shell: unsupported('no shell is run'),
  subagent_depth: unsupported('work is handed on three times at most'),
  enabled_providers: unsupported(EVERY_PROVIDER),
  disabled_providers: unsupported(EVERY_PROVIDER),
});
export type ConfigSettings = v.InferOutput<typeof ConfigFile>;
