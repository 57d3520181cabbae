import * as v from 'valibot';
import { Id, MessageInfo, PartRecord } from '../../agent/schema.ts';

/** What we read of a session of the agent (OpenCode 1.x); everything else is left alone. */
export const SessionRecord = v.object({
  id: Id,
  parentID: v.optional(v.string()),
  metadata: v.optional(v.record(v.string(), v.unknown())),
  time: v.object({ created: v.number() }),
});
export type SessionRecord = v.InferOutput<typeof SessionRecord>;

/** The events that matter here. OpenCode sends many others. */
export const AgentEventRecord = v.variant('type', [
  v.object({
    type: v.literal('message.part.delta'),
    properties: v.object({ messageID: Id, partID: Id, field: v.string(), delta: v.string() }),
  }),
  v.object({ type: v.literal('message.part.updated'), properties: v.object({ part: PartRecord }) }),
  v.object({ type: v.literal('message.updated'), properties: v.object({ info: MessageInfo }) }),
  v.object({ type: v.picklist(['permission.asked', 'permission.replied']), properties: v.unknown() }),
  v.object({ type: v.literal('question.asked'), properties: v.object({ id: Id, sessionID: Id }) }),
]);
export type AgentEventRecord = v.InferOutput<typeof AgentEventRecord>;

/** Types that are parsed. */
export const KNOWN_TYPES: ReadonlySet<unknown> = new Set(
  AgentEventRecord.options.flatMap(({ entries: { type } }): readonly string[] =>
    type.type === 'literal' ? [type.literal] : type.options,
  ),
);
