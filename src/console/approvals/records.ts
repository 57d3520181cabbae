import * as v from 'valibot';
import { Instant, OptionalText } from '../services/fitting.ts';

/** Each becomes a sentence, so there are not millions of them. */
const Texts = v.fallback(v.pipe(v.array(v.string()), v.maxLength(1000)), []);
const Id = v.pipe(v.string(), v.regex(/^\w{1,128}$/));

const Call = v.optional(v.fallback(v.optional(v.object({ messageID: Id, callID: v.string() })), undefined));

/** An open permission request of an agent server, as `GET /permission` lists it. */
export const RequestRecord = v.object({
  id: Id,
  sessionID: Id,
  permission: v.string(),
  patterns: Texts,
  metadata: v.fallback(v.record(v.string(), v.unknown()), {}),
  always: Texts,
  arguments: v.unknown(),
  title: OptionalText,
  /** The conversation that its session works for. */
  parent: v.optional(v.object({ id: Id, title: OptionalText })),
  agent: OptionalText,
  tool: Call,
  argumentsHash: v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/)),
  time: v.optional(v.fallback(v.optional(v.object({ asked: Instant, ends: Instant })), undefined)),
  alwaysMs: v.optional(v.fallback(v.optional(Instant), undefined)),
});
export type RequestRecord = v.InferOutput<typeof RequestRecord>;

const RuleRecord = v.object({ permission: v.string(), pattern: v.string() });

/** What became of a permission request, as `GET /permission/decisions` lists it. */
export const DecisionRecord = v.object({
  id: Id,
  sessionID: Id,
  permission: v.string(),
  patterns: Texts,
  argumentsHash: OptionalText,
  tool: Call,
  reply: v.picklist(['once', 'always', 'reject', 'expired', 'cancelled']),
  by: OptionalText,
  message: OptionalText,
  at: Instant,
  covers: v.optional(v.fallback(v.array(RuleRecord), [])),
  until: v.optional(v.fallback(v.optional(Instant), undefined)),
  through: OptionalText,
});
export type DecisionRecord = v.InferOutput<typeof DecisionRecord>;

/** A standing rule, as `GET /permission/standing` lists it. */
export const StandingRecord = v.object({
  id: Id,
  sessionID: Id,
  permission: v.string(),
  patterns: Texts,
  by: OptionalText,
  since: Instant,
  until: Instant,
  uses: v.pipe(v.number(), v.minValue(0)),
});
export type StandingRecord = v.InferOutput<typeof StandingRecord>;
