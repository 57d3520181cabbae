import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { LanguageModelV4, LanguageModelV4FunctionTool, LanguageModelV4ToolChoice } from '@ai-sdk/provider';
import { untilAborted } from '../../core/async.ts';
import { setNewest } from '../../core/bounded-map.ts';
import type { Clock } from '../../core/clock.ts';
import type { TraceContext } from '../../core/http/tracing.ts';
import { isRecord } from '../../core/json.ts';
import { beginAtOnce, createTimeSlices } from '../../core/time-slices.ts';
import { BUNDLED_ADAPTERS, type BundledAdapter, isBundledAdapter } from './adapters.ts';
import { type AiParts, readEvents } from './ai-sdk-events.ts';
import { toAiMessages, toAiOptions, withoutLostThoughts } from './ai-sdk-input.ts';
import { toModelError } from './ai-sdk-output.ts';
import { type BackendLimits, createBackendFetch, DEFAULT_LIMITS, type Fetcher } from './http.ts';
import { createLongTexts, type LongTexts, type WrittenTexts } from './long-texts.ts';
import { type ChatModel, ModelError, type ModelRequest, type ModelTarget, type ToolSpec } from './types.ts';

type AiModelNeeds = {
  readonly fetcher: Fetcher;
  readonly clock: Clock;
  /** Of this program, for the `user-agent`. */
  readonly version: string;
  /** Time limits by the provider's id; undefined for the default limits. */
  readonly limitsFor?: (providerID: string) => BackendLimits | undefined;
  /** Called once, with one sentence, for each setting that an adapter does not send. */
  readonly onUnsupported?: (sentence: string) => void;
};

/** Creating a model takes several milliseconds, most of them for its schemas. */
const MODEL_CACHE_SIZE = 64;
/** How long a backend may take to end an answer whose last part has arrived. */
const REST_MS = 1000;
/** The provider's name within the SDK, which is the key of its options. It appears nowhere else. */
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

const isSchema = (schema: unknown): schema is LanguageModelV4FunctionTool['inputSchema'] => isRecord(schema);

const toAiTool = ({ name, description, inputSchema }: ToolSpec): LanguageModelV4FunctionTool => ({
  type: 'function',
  name,
  description,
  inputSchema: isSchema(inputSchema) ? inputSchema : {},
});

/** Sets everything: the SDK would read missing addresses and keys from the environment. */
const createLanguageModel = (npm: BundledAdapter, upstreamID: string, settings: Settings): LanguageModelV4 => {
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

/** What the fetch of a call needs of it. The SDK passes nothing of a call on to its fetch but the signal. */
type Calls = WeakMap<AbortSignal, { readonly texts: LongTexts; readonly onSent: (() => void) | undefined }>;

const createModelCache = ({ fetcher, clock, version, limitsFor }: AiModelNeeds, calls: Calls) => {
  const cached = new Map<string, LanguageModelV4>();
  const runInSlices = beginAtOnce(createTimeSlices(clock));
  const userAgent = `gatehouse-agent/${version}`;
  const onSent = (signal: AbortSignal): void => calls.get(signal)?.onSent?.();
  const fetchFor = (npm: BundledAdapter, target: ModelTarget): typeof fetch => {
    const limits = limitsFor?.(target.providerID) ?? DEFAULT_LIMITS;
    const backendFetch = createBackendFetch({ fetcher, clock, limits, userAgent, onSent }, target);
    return async (input, init) => {
      const call = init?.signal ? calls.get(init.signal) : undefined;
      // A request with placeholders must not be sent.
      if (!init?.signal || typeof init.body !== 'string' || call === undefined)
        throw new Error('The SDK has not passed on the signal and the body of a call');
      const short = npm === '@ai-sdk/anthropic' ? withoutLostThoughts(init.body) : init.body;
      const body = await runInSlices(call.texts.complete(short), init.signal);
      return backendFetch(String(input), { headers: init.headers, body, signal: init.signal });
    };
  };
  return (npm: BundledAdapter, target: ModelTarget): LanguageModelV4 => {
    const { providerID, apiKey, headers, upstreamID } = target;
    const baseURL = baseUrlFor(npm, target);
    const key = JSON.stringify([npm, providerID, upstreamID, baseURL, apiKey, Object.entries(headers).sort()]);
    const known = cached.get(key);
    if (known !== undefined) return known;
    const settings = { baseURL, apiKey: apiKey ?? '', fetch: fetchFor(npm, target) };
    const model = createLanguageModel(npm, upstreamID, settings);
    setNewest(cached, [key, model], MODEL_CACHE_SIZE);
    return model;
  };
};

const requireAdapter = ({ npm, providerID }: ModelTarget): BundledAdapter => {
  if (isBundledAdapter(npm)) return npm;
  const valid = BUNDLED_ADAPTERS.join(', ');
  throw new ModelError('unknown-adapter', `The provider "${providerID}" needs one of the adapters ${valid}`);
};

/**
 * Backends with Anthropic's API may refuse a history with calls when the request has no tools. Elsewhere tools that must
 * not be called are left out: not every backend respects that.
 */
const sendsTools = (npm: BundledAdapter, { tools, toolChoice }: ModelRequest): boolean =>
  tools.length > 0 && (toolChoice !== 'none' || npm === '@ai-sdk/anthropic');

/** The request, with the tools of its history where a backend with Anthropic's API would get none at all. */
const withToolsOfHistory = (npm: BundledAdapter, request: ModelRequest): ModelRequest => {
  if (npm !== '@ai-sdk/anthropic' || request.tools.length > 0) return request;
  const called = request.messages.flatMap((one) => (one.role === 'assistant' ? one.calls.map(({ name }) => name) : []));
  const inputSchema = { type: 'object', properties: {} };
  const tools = [...new Set(called)].map((name): ToolSpec => ({ name, description: '', inputSchema }));
  return { ...request, tools, toolChoice: 'none' };
};

/** Anthropic's API refuses a forced call of a model that thinks; there the instructions alone ask for the call. */
const toolChoiceFor = (npm: BundledAdapter, { toolChoice, target }: ModelRequest): LanguageModelV4ToolChoice => {
  const { thinking, reasoningEffort } = target.options;
  const thinks = reasoningEffort !== undefined || (isRecord(thinking) && thinking.type !== 'disabled');
  if (npm === '@ai-sdk/anthropic' && toolChoice !== 'none' && thinks) return { type: 'auto' };
  return typeof toolChoice === 'object' ? { type: 'tool', toolName: toolChoice.name } : { type: toolChoice ?? 'auto' };
};

/** What a call has beside its request. */
type StreamContext = {
  readonly texts: LongTexts;
  readonly signal: AbortSignal;
  readonly trace: TraceContext | undefined;
};

/**
 * Asks the adapter itself. The SDK's own `streamText` around it would run tools, retry, repair and measure, none of which a
 * step wants, and costs more than the adapter.
 */
const startStream = async (
  model: LanguageModelV4,
  npm: BundledAdapter,
  request: ModelRequest,
  { texts, signal, trace }: StreamContext,
): Promise<AiParts> => {
  const { target, system, messages, sessionID } = request;
  const { maxOutputTokens, temperature, topP } = target;
  const { options, reasoning } = toAiOptions(npm, target);
  const { stream } = await model.doStream({
    prompt: [
      ...(system === '' ? [] : [{ role: 'system' as const, content: texts.shorten(system) }]),
      ...toAiMessages(messages, texts.shorten),
    ],
    ...(sendsTools(npm, request)
      ? { tools: request.tools.map(toAiTool), toolChoice: toolChoiceFor(npm, request) }
      : {}),
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(topP === undefined ? {} : { topP }),
    ...(reasoning === undefined ? {} : { reasoning }),
    providerOptions: { [OPTIONS_KEY[npm]]: options },
    headers: { 'x-session-affinity': sessionID, 'x-session-id': sessionID, ...trace },
    abortSignal: signal,
  });
  return stream;
};

/** Reads what comes after an answer, so that its connection is used again, and aborts what does not end in time. */
const readRest = async (
  rest: Pick<ReadableStreamDefaultReader<unknown>, 'read'>,
  { clock, abort }: { readonly clock: Clock; readonly abort: () => void },
): Promise<void> => {
  const cancelTimer = clock.after(REST_MS, abort);
  try {
    while (!(await rest.read()).done);
  } catch {
    // The answer is whole without it.
  } finally {
    cancelTimer();
  }
};

/** Reports each setting once: it is the same in every step. */
const createUnsupportedReporter = ({ onUnsupported }: AiModelNeeds) => {
  const reported = new Set<string>();
  return (npm: BundledAdapter, { providerID, upstreamID }: ModelTarget, feature: string): void => {
    const sentence = `${npm} does not send ${feature} as it is set to the model ${upstreamID} of ${providerID}`;
    if (reported.has(sentence)) return;
    reported.add(sentence);
    onUnsupported?.(sentence);
  };
};

/**
 * A model behind the adapters of the AI SDK. Loading this file costs some 20 MB and a tenth of a second, so a server does it after it listens. It never writes to
 * the console, reads nothing from the environment, and rejects only with a `ModelError` or the caller's own reason.
 */
export const createAiModel = (needs: AiModelNeeds): ChatModel => {
  const calls: Calls = new WeakMap();
  const written: WrittenTexts = new WeakMap();
  const modelOf = createModelCache(needs, calls);
  const reportUnsupported = createUnsupportedReporter(needs);
  return async function* events(request, signal, trace) {
    signal.throwIfAborted();
    const { target } = request;
    const { providerID, apiKey, headers } = target;
    const context = { providerID, secrets: [apiKey ?? '', ...Object.values(headers)] };
    const call = new AbortController();
    let isWhole = false;
    const onWhole: Parameters<typeof readEvents>[1]['onWhole'] = (rest) => {
      isWhole = true;
      void readRest(rest, { clock: needs.clock, abort: () => call.abort() });
    };
    const onAbort = () => call.abort(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    const texts = createLongTexts(crypto.randomUUID().replaceAll('-', ''), written);
    calls.set(call.signal, { texts, onSent: request.onSent });
    try {
      const npm = requireAdapter(target);
      const onUnsupported = (feature: string) => reportUnsupported(npm, target, feature);
      const mayCall = request.toolChoice !== 'none' || !sendsTools(npm, request);
      const sent = withToolsOfHistory(npm, request);
      const starting = startStream(modelOf(npm, target), npm, sent, { texts, signal: call.signal, trace });
      yield* readEvents(await untilAborted(starting, signal), { providerID, mayCall, onUnsupported, onWhole }, signal);
    } catch (error) {
      signal.throwIfAborted();
      throw toModelError(error, context);
    } finally {
      signal.removeEventListener('abort', onAbort);
      // A consumer that stops early also ends the call to the backend.
      if (!isWhole) call.abort();
    }
  };
};
