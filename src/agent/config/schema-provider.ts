import * as v from 'valibot';
import { BUNDLED_ADAPTERS, type BundledAdapter, isBundledAdapter } from '../model/adapters.ts';
import {
  Anything,
  BaseAddress,
  BooleanSetting,
  DurationOrNone,
  Headers,
  IdSetting,
  IntegerFrom,
  ModelKey,
  NumberFrom,
  OneOfSetting,
  PlainText,
  TextSetting,
  unsupported,
} from './schema-values.ts';

const Tokens = IntegerFrom(0, 1_000_000_000);
/** Money for a million tokens. */
const Price = NumberFrom(0, 1_000_000);
const Medium = OneOfSetting(['text', 'audio', 'image', 'video', 'pdf']);

const ONE_PRICE = 'each kind of token has one price';
const UNUSED = 'nothing here depends on it';
const EVERY_MODEL = 'the models are those under models';

const Variant = v.looseObject({ disabled: v.optional(BooleanSetting) });

const Model = v.object({
  id: v.optional(PlainText),
  name: v.optional(TextSetting),
  limit: v.optional(v.object({ context: v.optional(Tokens), input: v.optional(Tokens), output: v.optional(Tokens) })),
  cost: v.optional(
    v.object({
      input: v.optional(Price),
      output: v.optional(Price),
      cache_read: v.optional(Price),
      cache_write: v.optional(Price),
      context_over_200k: unsupported(ONE_PRICE),
      tiers: unsupported(ONE_PRICE),
    }),
  ),
  options: v.optional(Anything),
  variants: v.optional(v.record(IdSetting, Variant)),
  reasoning: v.optional(
    v.lazy((value) =>
      typeof value === 'string' ? v.literal('split', 'expected true, false or "split"') : BooleanSetting,
    ),
  ),
  temperature: v.optional(BooleanSetting),
  tool_call: v.optional(BooleanSetting),
  attachment: v.optional(BooleanSetting),
  modalities: v.optional(v.object({ input: v.optional(v.array(Medium)), output: v.optional(v.array(Medium)) })),
  headers: v.optional(Headers),
  family: unsupported(UNUSED),
  release_date: unsupported(UNUSED),
  interleaved: unsupported('thoughts are never sent to a model again'),
  reasoning_options: unsupported('variants say how a model may reason'),
  status: unsupported(UNUSED),
  experimental: unsupported(UNUSED),
});

const API_KEY_RULE = 'expected a key of 1 to 4096 printable characters without blanks';

/** Other programs pass on all options here. Adapters get only these, so that each of them has its documented effect. */
const ProviderOptions = v.objectWithRest(
  {
    baseURL: v.optional(BaseAddress),
    apiKey: v.optional(v.pipe(v.string(API_KEY_RULE), v.regex(/^[\x21-\x7e]{1,4096}$/, API_KEY_RULE))),
    headers: v.optional(Headers),
    timeout: v.optional(DurationOrNone),
    headerTimeout: v.optional(DurationOrNone),
    chunkTimeout: v.optional(DurationOrNone),
    setCacheKey: unsupported('no cache key is made, but requests carry x-session-id'),
  },
  unsupported('there is no such option of a provider here; options for a model go under the model'),
);

const Provider = v.object({
  npm: v.optional(OneOfSetting(BUNDLED_ADAPTERS)),
  name: v.optional(TextSetting),
  api: v.optional(BaseAddress),
  options: v.optional(ProviderOptions),
  models: v.optional(v.record(ModelKey, Model)),
  env: unsupported('a key is what options.apiKey says'),
  id: unsupported('a provider is known by its name in this file'),
  whitelist: unsupported(EVERY_MODEL),
  blacklist: unsupported(EVERY_MODEL),
});

/** `provider`: the providers and their models. */
export const Providers = v.record(IdSetting, Provider);
export type ProviderSettings = v.InferOutput<typeof Provider>;
export type ModelSettings = v.InferOutput<typeof Model>;

const BY_PROVIDER: ReadonlyMap<string, BundledAdapter> = new Map([
  ['openai', '@ai-sdk/openai'],
  ['anthropic', '@ai-sdk/anthropic'],
]);

/** The adapter of a provider: the configured one, else its own, else the one for OpenAI-compatible backends. */
export const adapterOf = (id: string, npm: unknown): BundledAdapter =>
  typeof npm === 'string' && isBundledAdapter(npm) ? npm : (BY_PROVIDER.get(id) ?? '@ai-sdk/openai-compatible');
