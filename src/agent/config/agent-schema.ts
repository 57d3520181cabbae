import * as v from 'valibot';
import { Permission } from './permission-schema.ts';
import {
  Anything,
  Id,
  ModelName,
  NumberFrom,
  OneOfWords,
  PlainText,
  Switch,
  Text,
  WholeFrom,
} from './schema-values.ts';

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
