import * as v from 'valibot';
import { Agents, Steps } from './agent-schema.ts';
import { McpServers } from './mcp-schema.ts';
import { Permission } from './permission-schema.ts';
import { Providers } from './provider-schema.ts';
import { Duration, Inert, ModelName, PlainText, Switch, Text, WholeFrom } from './values.ts';

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
  steps: v.optional(Steps),
  compaction: v.optional(
    v.object({
      auto: v.optional(Switch),
      reserved: v.optional(WholeFrom(0, 1_000_000_000)),
      prune: Inert,
      tail_turns: Inert,
      preserve_recent_tokens: Inert,
    }),
  ),
  tool_output: v.optional(
    v.object({
      max_lines: v.optional(WholeFrom(1, 1_000_000)),
      max_bytes: v.optional(WholeFrom(1, 100_000_000)),
    }),
  ),
  instructions: v.optional(v.array(PlainText)),
  username: v.optional(Text),
  share: Inert,
  autoshare: Inert,
  autoupdate: Inert,
  theme: Inert,
  snapshot: Inert,
  lsp: Inert,
  formatter: Inert,
  plugin: Inert,
  keybinds: Inert,
  tui: Inert,
  watcher: Inert,
  experimental: Inert,
  server: Inert,
  command: Inert,
  skills: Inert,
  reference: Inert,
  references: Inert,
  layout: Inert,
  attachment: Inert,
  enterprise: Inert,
  logLevel: Inert,
  shell: Inert,
  subagent_depth: Inert,
  enabled_providers: Inert,
  disabled_providers: Inert,
});
export type ConfigSettings = v.InferOutput<typeof ConfigFile>;
