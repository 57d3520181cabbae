import * as v from 'valibot';
import { BUNDLED_ADAPTERS } from '../bundled-adapters.ts';
import {
  Anything,
  BaseAddress,
  DurationOrNone,
  Headers,
  Id,
  Inert,
  ModelKey,
  NumberFrom,
  OneOfWords,
  PlainText,
  Switch,
  Text,
  WholeFrom,
} from './values.ts';

const Tokens = WholeFrom(0, 1_000_000_000);
/** Money for a million tokens. */
const Price = NumberFrom(0, 1_000_000);
const Medium = OneOfWords(['text', 'audio', 'image', 'video', 'pdf']);

const Variant = v.looseObject({ disabled: v.optional(Switch) });

const Model = v.object({
  id: v.optional(PlainText),
  name: v.optional(Text),
  limit: v.optional(v.object({ context: v.optional(Tokens), input: v.optional(Tokens), output: v.optional(Tokens) })),
  cost: v.optional(
    v.object({
      input: v.optional(Price),
      output: v.optional(Price),
      cache_read: v.optional(Price),
      cache_write: v.optional(Price),
      context_over_200k: Inert,
      tiers: Inert,
    }),
  ),
  options: v.optional(Anything),
  variants: v.optional(v.record(Id, Variant)),
  reasoning: v.optional(
    v.lazy((value) => (typeof value === 'string' ? v.literal('split', 'expected true, false or "split"') : Switch)),
  ),
  temperature: v.optional(Switch),
  tool_call: v.optional(Switch),
  attachment: v.optional(Switch),
  modalities: v.optional(v.object({ input: v.optional(v.array(Medium)), output: v.optional(v.array(Medium)) })),
  headers: v.optional(Headers),
  family: Inert,
  release_date: Inert,
  interleaved: Inert,
  reasoning_options: Inert,
  status: Inert,
  experimental: Inert,
});

const API_KEY_RULE = 'expected a key of 1 to 4096 printable characters without blanks';

/** What else an adapter takes goes to it as it is. */
const ProviderOptions = v.looseObject({
  baseURL: v.optional(BaseAddress),
  apiKey: v.optional(v.pipe(v.string(API_KEY_RULE), v.regex(/^[\x21-\x7e]{1,4096}$/, API_KEY_RULE))),
  headers: v.optional(Headers),
  timeout: v.optional(DurationOrNone),
  headerTimeout: v.optional(DurationOrNone),
  chunkTimeout: v.optional(DurationOrNone),
});

const Provider = v.object({
  npm: v.optional(OneOfWords(BUNDLED_ADAPTERS)),
  name: v.optional(Text),
  api: v.optional(BaseAddress),
  options: v.optional(ProviderOptions),
  models: v.optional(v.record(ModelKey, Model)),
  env: Inert,
  id: Inert,
  whitelist: Inert,
  blacklist: Inert,
});

/** `provider`: where models are and what they can do. */
export const Providers = v.record(Id, Provider);
export type ProviderSettings = v.InferOutput<typeof Provider>;
export type ModelSettings = v.InferOutput<typeof Model>;
