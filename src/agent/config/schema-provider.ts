import * as v from 'valibot';
import { BUNDLED_ADAPTERS, type BundledAdapter, isBundledAdapter } from '../model/adapters.ts';
import {
  Anything,
  BaseAddress,
  DurationOrNone,
  Headers,
  Id,
  inert,
  ModelKey,
  NumberFrom,
  OneOfWords,
  PlainText,
  Switch,
  Text,
  WholeFrom,
} from './schema-values.ts';

const Tokens = WholeFrom(0, 1_000_000_000);
/** Money for a million tokens. */
const Price = NumberFrom(0, 1_000_000);
const Medium = OneOfWords(['text', 'audio', 'image', 'video', 'pdf']);

const ONE_PRICE = 'each kind of token has one price';
const UNUSED = 'nothing here depends on it';
const EVERY_MODEL = 'the models are those under models';

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
      context_over_200k: inert(ONE_PRICE),
      tiers: inert(ONE_PRICE),
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
  family: inert(UNUSED),
  release_date: inert(UNUSED),
  interleaved: inert('thoughts are never sent to a model again'),
  reasoning_options: inert('variants say how a model may reason'),
  status: inert(UNUSED),
  experimental: inert(UNUSED),
});

const API_KEY_RULE = 'expected a key of 1 to 4096 printable characters without blanks';

/** Other programs hand on whatever else stands here; no adapter is given more than these, so that each of them holds. */
const ProviderOptions = v.objectWithRest(
  {
    baseURL: v.optional(BaseAddress),
    apiKey: v.optional(v.pipe(v.string(API_KEY_RULE), v.regex(/^[\x21-\x7e]{1,4096}$/, API_KEY_RULE))),
    headers: v.optional(Headers),
    timeout: v.optional(DurationOrNone),
    headerTimeout: v.optional(DurationOrNone),
    chunkTimeout: v.optional(DurationOrNone),
    setCacheKey: inert('no cache key is made, but requests carry x-session-id'),
  },
  inert('there is no such option of a provider here; options for a model go under the model'),
);

const Provider = v.object({
  npm: v.optional(OneOfWords(BUNDLED_ADAPTERS)),
  name: v.optional(Text),
  api: v.optional(BaseAddress),
  options: v.optional(ProviderOptions),
  models: v.optional(v.record(ModelKey, Model)),
  env: inert('a key is what options.apiKey says'),
  id: inert('a provider is known by its name in this file'),
  whitelist: inert(EVERY_MODEL),
  blacklist: inert(EVERY_MODEL),
});

/** `provider`: where models are and what they can do. */
export const Providers = v.record(Id, Provider);
export type ProviderSettings = v.InferOutput<typeof Provider>;
export type ModelSettings = v.InferOutput<typeof Model>;

const BY_PROVIDER: ReadonlyMap<string, BundledAdapter> = new Map([
  ['openai', '@ai-sdk/openai'],
  ['anthropic', '@ai-sdk/anthropic'],
]);

/** The adapter of a provider: the one it names, else its own, else the one for whatever speaks like OpenAI. */
export const adapterOf = (id: string, npm: unknown): BundledAdapter =>
  typeof npm === 'string' && isBundledAdapter(npm) ? npm : (BY_PROVIDER.get(id) ?? '@ai-sdk/openai-compatible');
