import * as v from 'valibot';
import { Agents, Steps } from './agent-schema.ts';
import { McpServers } from './mcp-schema.ts';
import { Permission } from './permission-schema.ts';
import { Providers } from './schema-provider.ts';
import { Duration, inert, ModelName, PlainText, Switch, Text, WholeFrom } from './schema-values.ts';

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
