import * as v from 'valibot';
import { FeedBatch, UnnumberedEvents } from '../../../gateway/admin/feed-numbering.ts';
import { COOL_DOWN_REASONS } from '../../../llm/key-state.ts';
import { MetricFamilies } from '../../prometheus/merge.ts';

/** Stands beside a connection that the first process gives to a worker. */
export const CONNECTION = 'connection';
/** The worker's answer to it, at once. */
export const ACCEPTED = 'accepted';

const Ms = v.pipe(v.number(), v.finite(), v.minValue(0));
const Texts = v.pipe(v.array(v.string()), v.readonly());

/** A cool-down of a backend key, or with `coolDownMs` 0 its end. The key is named by its fingerprint. */
const CoolDownNotice = v.object({
  kind: v.literal('cool-down'),
  fingerprint: v.string(),
  reason: v.picklist(COOL_DOWN_REASONS),
  coolDownMs: Ms,
  strikes: v.pipe(v.number(), v.safeInteger(), v.minValue(0)),
});

/** Verdicts, packed as `verdicts.ts` does. They are looked at when one is used. */
const VerdictsNotice = v.object({ kind: v.literal('verdicts'), verdicts: Texts });

/** Somebody reads the feed in some worker. */
const FeedReadNotice = v.object({ kind: v.literal('feed-read') });

/** The notices of a worker to the first process. */
export const WorkerNotice = v.variant('kind', [
  /** It is built and takes connections. */
  v.object({ kind: v.literal('started') }),
  /** So many of its connections were closed. */
  v.object({ kind: v.literal('closed'), count: v.pipe(v.number(), v.safeInteger(), v.minValue(1)) }),
  /** It cannot start: what is wrong, a line each, without values that may be secret. */
  v.object({ kind: v.literal('failed'), problems: Texts }),
  /** What it has counted since its start. */
  v.object({ kind: v.literal('metrics'), families: MetricFamilies }),
  CoolDownNotice,
  VerdictsNotice,
  FeedReadNotice,
  /** Events of the feed. */
  v.object({ kind: v.literal('feed'), ...UnnumberedEvents.entries }),
]);
export type WorkerNotice = v.InferOutput<typeof WorkerNotice>;

/** What a worker asks the first process. */
export const WorkerQuestion = v.variant('kind', [
  /** May this gateway key, named by its digest, send one more request? The answer is a wait in milliseconds, 0 for yes. */
  v.object({ kind: v.literal('count'), keyId: v.string() }),
  /** The metrics of all processes: Prometheus text. */
  v.object({ kind: v.literal('metrics') }),
  /** The policy file as it was when the service started: its text; nothing where there is none. */
  v.object({ kind: v.literal('policy') }),
  /** The readiness of another worker that is ready; nothing when none is. */
  v.object({ kind: v.literal('ready') }),
  /** The states of all workers, for the admin routes. */
  v.object({ kind: v.literal('states') }),
]);
export type WorkerQuestion = v.InferOutput<typeof WorkerQuestion>;

/** The notices of the first process to a worker. */
export const ParentNotice = v.variant('kind', [
  /** Finish the requests that run, and end. */
  v.object({ kind: v.literal('stop') }),
  CoolDownNotice,
  VerdictsNotice,
  FeedReadNotice,
  /** Events of the feed, of all workers. */
  v.object({ kind: v.literal('feed'), ...FeedBatch.entries }),
]);
export type ParentNotice = v.InferOutput<typeof ParentNotice>;

/** What the first process asks a worker: its own `metrics` (families), its own readiness, or its own state. */
export const ParentQuestion = v.variant('kind', [
  v.object({ kind: v.literal('metrics') }),
  v.object({ kind: v.literal('ready') }),
  v.object({ kind: v.literal('state') }),
]);
export type ParentQuestion = v.InferOutput<typeof ParentQuestion>;

/** A worker's readiness, as `/ready` reports it. */
export const ReadinessAnswer = v.object({ reasons: Texts, missing: Texts, warnings: Texts });

/** How long a request may have to wait, in milliseconds. */
export const CountAnswer = Ms;
