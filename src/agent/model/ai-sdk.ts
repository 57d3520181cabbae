import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { jsonSchema, type LanguageModel, streamText, type TextStreamPart, type ToolSet } from 'ai';
import { untilAborted } from '../../core/async.ts';
import type { Clock } from '../../core/clock.ts';
import { isRecord, parseJsonValue } from '../../core/json.ts';
import { BUNDLED_ADAPTERS, type BundledAdapter, isBundledAdapter } from './adapters.ts';
import { toAiMessages, toAiOptions, withoutLostThoughts } from './ai-sdk-input.ts';
import { isIgnorableEvent, toFinish, toModelError, toTokens } from './ai-sdk-output.ts';
import { type BackendLimits, createBackendFetch, DEFAULT_LIMITS, type Fetcher } from './http.ts';
import { type ChatModel, ModelError, type ModelEvent, type ModelRequest, type ModelTarget } from './types.ts';

/** A tool call that the SDK has read to its end. `input` is what it made of the arguments: their text where it failed. */
export type CompletedCall = { readonly id: string; readonly name: string; readonly input: unknown };

const BLANK = /^\s*$/;

/** Many models say nothing where a tool takes no arguments. */
const parseInput = (raw: string): unknown => (BLANK.test(raw) ? {} : parseJsonValue(raw));

const toRawInput = (input: unknown): string => (typeof input === 'string' ? input : (JSON.stringify(input) ?? ''));

/** Follows the tool calls of one answer. Arguments are read here, so that nobody repairs them on the way. */
export const createCallReader = () => {
  const begun = new Map<string, string>();
  let count = 0;
  const begin = (id: string, name: string): readonly ModelEvent[] => {
    if (begun.has(id)) return [];
    begun.set(id, '');
    return [{ kind: 'call-begun', id, name }];
  };
  return {
    count: () => count,
    begin,
    add: (id: string, delta: string): void => void begun.set(id, (begun.get(id) ?? '') + delta),
    end({ id, name, input }: CompletedCall): readonly ModelEvent[] {
      const beginning = begin(id, name);
      // Some backends send the arguments only with the end of the call.
      const raw = begun.get(id) || toRawInput(input);
      count += 1;
      return [...beginning, { kind: 'call', id, name, input: parseInput(raw), raw }];
    },
  };
};

export type AiModelNeeds = {
  readonly fetcher: Fetcher;
  readonly clock: Clock;
  /** Of this program, for the `user-agent`. */
  readonly version: string;
  /** How long a provider may take, by its id; none for the usual limits. */
  readonly limitsFor?: (providerID: string) => BackendLimits | undefined;
  /** Hears of a setting that an adapter keeps from a model, in one sentence, once. */
  readonly onUnsupported?: (sentence: string) => void;
};

/** Making one costs several milliseconds, most of them for its schemas. */
const MODEL_CACHE_SIZE = 64;
/** Names the provider within the SDK, and so the place of its options. It shows nowhere. */
const COMPATIBLE = 'gatehouse';
const OPTIONS_KEY: Readonly<Record<BundledAdapter, string>> = {
  '@ai-sdk/openai-compatible': COMPATIBLE,
  '@ai-sdk/openai': 'openai',
  '@ai-sdk/anthropic': 'anthropic',
};
const PUBLIC_API: Readonly<Record<'@ai-sdk/openai' | '@ai-sdk/anthropic', string>> = {
  '@ai-sdk/openai': 'https://api.openai.com/v1',
  '@ai-sdk/anthropic': 'https://api.anthropic.com/v1',
};

type Settings = { readonly baseURL: string; readonly apiKey: string; readonly fetch: typeof fetch };

const isSchema = (schema: unknown): schema is Parameters<typeof jsonSchema>[0] => isRecord(schema);

const toAiTools = ({ tools }: ModelRequest): ToolSet =>
  Object.fromEntries(
    tools.map(({ name, description, inputSchema }) => [
      name,
      { description, inputSchema: jsonSchema(isSchema(inputSchema) ? inputSchema : {}) },
    ]),
  );

/** The SDK would otherwise read addresses and keys from the environment: nothing is left out here. */
const createLanguageModel = (npm: BundledAdapter, upstreamID: string, settings: Settings): LanguageModel => {
  switch (npm) {
    case '@ai-sdk/openai-compatible':
      return createOpenAICompatible({ ...settings, name: COMPATIBLE, includeUsage: true })(upstreamID);
    case '@ai-sdk/openai':
      return createOpenAI(settings)(upstreamID);
    case '@ai-sdk/anthropic':
      return createAnthropic(settings)(upstreamID);
    default:
      return npm satisfies never;
  }
};

const baseUrlFor = (npm: BundledAdapter, { baseURL, providerID }: ModelTarget): string => {
  if (baseURL !== undefined) return baseURL;
  if (npm !== '@ai-sdk/openai-compatible') return PUBLIC_API[npm];
  throw new ModelError('api', `The provider "${providerID}" has no baseURL`);
};

const createModelCache = ({ fetcher, clock, version, limitsFor }: AiModelNeeds) => {
  const kept = new Map<string, LanguageModel>();
  const userAgent = `gatehouse-agent/${version}`;
  const fetchFor = (npm: BundledAdapter, target: ModelTarget): typeof fetch => {
    const limits = limitsFor?.(target.providerID) ?? DEFAULT_LIMITS;
    const ask = createBackendFetch({ fetcher, clock, limits, userAgent }, target);
    if (npm !== '@ai-sdk/anthropic') return ask;
    return (input, init) =>
      ask(input, typeof init?.body === 'string' ? { ...init, body: withoutLostThoughts(init.body) } : init);
  };
  return (npm: BundledAdapter, target: ModelTarget): LanguageModel => {
    const { providerID, apiKey, headers, upstreamID } = target;
    const baseURL = baseUrlFor(npm, target);
    const key = JSON.stringify([npm, providerID, upstreamID, baseURL, apiKey, Object.entries(headers).sort()]);
    const known = kept.get(key);
    if (known !== undefined) return known;
    const settings = { baseURL, apiKey: apiKey ?? '', fetch: fetchFor(npm, target) };
    const model = createLanguageModel(npm, upstreamID, settings);
    const [oldest] = kept.keys();
    if (kept.size >= MODEL_CACHE_SIZE && oldest !== undefined) kept.delete(oldest);
    kept.set(key, model);
    return model;
  };
};

const requireAdapter = ({ npm, providerID }: ModelTarget): BundledAdapter => {
  if (isBundledAdapter(npm)) return npm;
  const valid = BUNDLED_ADAPTERS.join(', ');
  throw new ModelError('unknown-adapter', `The provider "${providerID}" needs one of the adapters ${valid}`);
};

type Parts = ReadableStream<TextStreamPart<ToolSet>>;

/**
 * Backends that speak Anthropic's dialect may refuse a history with calls when no tools are named. Elsewhere tools that may
 * not be called are left out: not every backend keeps to that.
 */
const sendsTools = (npm: BundledAdapter, { tools, toolChoice }: ModelRequest): boolean =>
  tools.length > 0 && (toolChoice === undefined || npm === '@ai-sdk/anthropic');

const startStream = (model: LanguageModel, npm: BundledAdapter, request: ModelRequest, signal: AbortSignal): Parts => {
  const { target, system, messages, sessionID } = request;
  const { maxOutputTokens, temperature, topP } = target;
  const { options, reasoning } = toAiOptions(npm, target);
  const tools = toAiTools(request);
  const { stream } = streamText({
    model,
    messages: toAiMessages(messages),
    ...(system === '' ? {} : { instructions: system }),
    ...(sendsTools(npm, request) ? { tools, toolChoice: request.toolChoice ?? 'auto' } : {}),
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(topP === undefined ? {} : { topP }),
    ...(reasoning === undefined ? {} : { reasoning }),
    providerOptions: { [OPTIONS_KEY[npm]]: options },
    headers: { 'x-session-affinity': sessionID, 'x-session-id': sessionID },
    maxRetries: 0,
    abortSignal: signal,
    telemetry: { isEnabled: false },
    // Unless it is given one, the SDK writes errors to the console, bodies and all.
    onError: () => {},
    // An address in a conversation or in an answer must not make us ask there.
    experimental_download: async (files) => {
      if (files.length === 0) return [];
      throw new ModelError('api', `The provider "${target.providerID}" answered with a file that is elsewhere`);
    },
  });
  return stream;
};

/** Some adapters pass on what holds no words, such as a signature. */
const deltaEvent = (kind: 'text' | 'reasoning', delta: string): readonly ModelEvent[] =>
  delta === '' ? [] : [{ kind, delta }];

type Reading = { readonly providerID: string; readonly onUnsupported: (feature: string) => void };

/** The SDK's parts as events. Throws whatever error they hold. */
async function* readEvents(
  parts: Parts,
  { providerID, onUnsupported }: Reading,
  signal: AbortSignal,
): AsyncGenerator<ModelEvent> {
  const calls = createCallReader();
  const reader = parts.getReader();
  try {
    for (;;) {
      // The SDK ends its stream when the signal aborts, but not at once when the consumer is slow.
      const { value: part } = await untilAborted(reader.read(), signal);
      if (part === undefined) break;
      if (part.type === 'start-step') {
        for (const warning of part.warnings) if ('feature' in warning) onUnsupported(warning.feature);
      } else if (part.type === 'text-delta') yield* deltaEvent('text', part.text);
      else if (part.type === 'reasoning-delta') yield* deltaEvent('reasoning', part.text);
      else if (part.type === 'tool-input-start') yield* calls.begin(part.id, part.toolName);
      else if (part.type === 'tool-input-delta') calls.add(part.id, part.delta);
      else if (part.type === 'tool-call') {
        yield* calls.end({ id: part.toolCallId, name: part.toolName, input: part.input });
      } else if (part.type === 'error') {
        if (!isIgnorableEvent(part.error)) throw part.error;
      } else if (part.type === 'finish-step') {
        const finish = toFinish(part.finishReason, part.rawFinishReason, calls.count() > 0);
        if (finish === undefined) break;
        yield { kind: 'finished', finish, tokens: toTokens(part.usage) };
        return;
      }
    }
  } finally {
    void reader.cancel().catch(() => {});
  }
  const message = `The provider "${providerID}" broke off before the end of its answer`;
  throw new ModelError('cut-off', message, { isRetryable: true });
}

/** Tells of each thing once: a setting is the same in every step. */
const createUnsupportedReporter = ({ onUnsupported }: AiModelNeeds) => {
  const told = new Set<string>();
  return (npm: BundledAdapter, { providerID, upstreamID }: ModelTarget, feature: string): void => {
    const sentence = `${npm} does not send ${feature} as it is set to the model ${upstreamID} of ${providerID}`;
    if (told.has(sentence)) return;
    told.add(sentence);
    onUnsupported?.(sentence);
  };
};

/**
 * A model behind the AI SDK. Loading this file costs some 25 MB and a tenth of a second, so a server does it after it listens. It never writes to
 * the console, reads nothing from the environment, and rejects only with a `ModelError` or the caller's own reason.
 */
export const createAiModel = (needs: AiModelNeeds): ChatModel => {
  const modelOf = createModelCache(needs);
  const leftOut = createUnsupportedReporter(needs);
  // The SDK's only switch for its warnings, which it would write to stderr.
  globalThis.AI_SDK_LOG_WARNINGS = false;
  return async function* events(request, signal) {
    signal.throwIfAborted();
    const { target } = request;
    const { providerID, apiKey, headers } = target;
    const blame = { providerID, secrets: [apiKey ?? '', ...Object.values(headers)] };
    const asking = new AbortController();
    const leave = () => asking.abort(signal.reason);
    signal.addEventListener('abort', leave, { once: true });
    try {
      const npm = requireAdapter(target);
      const onUnsupported = (feature: string) => leftOut(npm, target, feature);
      yield* readEvents(
        startStream(modelOf(npm, target), npm, request, asking.signal),
        { providerID, onUnsupported },
        signal,
      );
    } catch (error) {
      signal.throwIfAborted();
      throw toModelError(error, blame);
    } finally {
      signal.removeEventListener('abort', leave);
      // Whoever stops listening early ends the call to the backend, too.
      asking.abort();
    }
  };
};
