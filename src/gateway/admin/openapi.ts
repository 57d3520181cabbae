import * as v from 'valibot';
import { CheckRequest } from './check.ts';
import { RestRequest } from './routes.ts';
import { KeyReport, PROCESS_STATE } from './state.ts';

const Texts = v.array(v.string());
const Category = v.object({ name: v.string(), threshold: v.number() });

/** What `GET /admin/state` answers. */
export const AdminState = v.object({
  time: v.number(),
  version: v.string(),
  ...PROCESS_STATE,
  aliases: v.array(
    v.object({
      alias: v.string(),
      model: v.string(),
      judge: v.string(),
      vision: v.boolean(),
      policy: v.string(),
      guard: v.optional(v.string()),
      /** The alias of its second judge. */
      second: v.optional(v.string()),
    }),
  ),
  policies: v.array(v.object({ version: v.string(), categories: v.array(Category) })),
  ready: v.object({ reasons: Texts, missing: Texts, warnings: Texts }),
});

/** What a rest and a release answer. */
export const KeyChangeAnswer = v.object({
  ...KeyReport.entries,
  applies_to: v.picklist(['process', 'replicas']),
});

/** What `POST /admin/check` answers. `result` is one of those of `POST /v1/moderations`. */
export const CheckAnswer = v.object({
  model: v.string(),
  backend_model: v.string(),
  policy: v.string(),
  cache: v.picklist(['hit', 'miss']),
  /** The judges that were asked now, and about which categories where not about all. */
  asked: v.array(v.object({ model: v.string(), categories: v.optional(v.array(v.string())) })),
  result: v.looseObject({ flagged: v.boolean() }),
  thresholds: v.record(v.string(), v.number()),
  hidden: v.array(v.picklist(['decoded', 'invisible'])),
  views: v.array(
    v.object({
      kind: v.picklist(['visible', 'decoded', 'invisible']),
      /** Its beginning, where it is very long. */
      text: v.string(),
      chars: v.number(),
      found: Texts,
    }),
  ),
  duration_ms: v.number(),
});

/** The named schemas of the admin routes. */
export const ADMIN_COMPONENTS = { AdminState, RestRequest, KeyChangeAnswer, CheckRequest, CheckAnswer };
