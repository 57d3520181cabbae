import * as v from 'valibot';
import { createJsonMemo, parseJson } from '../core/json.ts';
import { Logprobs, logprobsOf } from './logprobs.ts';
import { isSameModel } from './model-name.ts';
import type { ChatCall, ChatReply, Dialect, ModelTraits, Think } from './types.ts';

const Message = v.object({
  content: v.nullish(v.string(), ''),
  refusal: v.nullish(v.string()),
  tool_calls: v.nullish(v.array(v.unknown())),
});
const Choice = v.object({
  message: Message,
  finish_reason: v.nullish(v.string()),
  logprobs: v.fallback(v.nullish(v.object({ content: Logprobs })), undefined),
});
const Answer = v.object({
  error: v.optional(v.unknown()),
  model: v.optional(v.string()),
  choices: v.pipe(v.array(Choice), v.length(1)),
  usage: v.nullish(
    v.object({
      prompt_tokens: v.nullish(v.number(), 0),
      completion_tokens: v.nullish(v.number(), 0),
      // OpenAI and llama.cpp tell it, vLLM with --enable-prompt-tokens-details. No verdict fails for it.
      prompt_tokens_details: v.fallback(v.nullish(v.object({ cached_tokens: v.nullish(v.number()) })), undefined),
    }),
  ),
});
// vLLM's older form is a flat {"object":"error",...}; all others wrap it in `error`.
const ErrorAnswer = v.union([v.object({ error: v.unknown() }), v.object({ object: v.literal('error') })]);
const Models = v.object({ data: v.array(v.object({ id: v.string() })) });

/** What llama.cpp adds to its list; earlier versions of it have the second form. */
const TraitsOfModels = v.object({
  data: v.array(
    v.object({
      id: v.string(),
      architecture: v.optional(v.object({ input_modalities: v.optional(v.array(v.string())) })),
    }),
  ),
  models: v.optional(v.array(v.object({ model: v.string(), capabilities: v.optional(v.array(v.string())) }))),
});

const parseTraits = (text: string, model: string): ModelTraits => {
  const listed = parseJson(TraitsOfModels, text);
  const modalities = listed?.data.find(({ id }) => isSameModel(model, id))?.architecture?.input_modalities;
  if (modalities !== undefined) return { vision: modalities.includes('image') };
  const capabilities = listed?.models?.find((one) => isSameModel(model, one.model))?.capabilities;
  return capabilities === undefined ? {} : { vision: capabilities.includes('multimodal') };
};

const toContent = ({ user, image }: ChatCall): unknown =>
  image === undefined
    ? user
    : [
        { type: 'text', text: user },
        { type: 'image_url', image_url: { url: `data:${image.mediaType};base64,${image.base64}` } },
      ];

/** Levels use OpenAI's field; off and on go to the chat template, where vLLM, SGLang and llama.cpp read them. */
const thinkingFields = (think: Think | undefined, templateSettings: object | undefined): object => {
  const settings = { ...templateSettings, ...(typeof think === 'boolean' ? { enable_thinking: think } : {}) };
  return {
    ...(typeof think === 'string' ? { reasoning_effort: think } : {}),
    ...(Object.keys(settings).length === 0 ? {} : { chat_template_kwargs: settings }),
  };
};

const systemJson = createJsonMemo<string>();
const schemaJson = createJsonMemo<object>();

const responseFormat = (schema: object): string =>
  `,"response_format":{"type":"json_schema","json_schema":{"name":"verdict","strict":true,"schema":${schemaJson(schema)}}}`;

const createBody = (call: ChatCall): string => {
  const settings = JSON.stringify({
    model: call.model,
    stream: false,
    temperature: 0,
    max_tokens: call.outputTokens,
    ...thinkingFields(call.think, call.templateSettings),
    ...(call.topLogprobs === undefined ? {} : { logprobs: true, top_logprobs: call.topLogprobs }),
  });
  const userMessage = JSON.stringify({ role: 'user', content: toContent(call) });
  const { system, afterUser } = call;
  const systemMessage =
    system === undefined || call.templateSettings !== undefined
      ? ''
      : `{"role":"system","content":${systemJson(system)}},`;
  const lastMessage = afterUser === undefined ? '' : `,${JSON.stringify({ role: 'user', content: afterUser })}`;
  const messages = `[${systemMessage}${userMessage}${lastMessage}]`;
  return `${settings.slice(0, -1)},"messages":${messages}${call.schema === undefined ? '' : responseFormat(call.schema)}}`;
};

const parseReply = (text: string, model: string): ChatReply => {
  const answer = parseJson(Answer, text);
  const choice = answer?.choices[0];
  if (answer === undefined || choice === undefined) {
    return parseJson(ErrorAnswer, text) === undefined
      ? { kind: 'unusable', reason: 'not a chat completion' }
      : { kind: 'error', text };
  }
  if (answer.error != null) return { kind: 'error', text };
  const { message, finish_reason: finishReason, logprobs } = choice;
  if (finishReason !== 'stop') return { kind: 'unusable', reason: 'the answer was cut off' };
  if (message.refusal || message.tool_calls?.length)
    return { kind: 'unusable', reason: 'the model refused or called a tool' };
  if (answer.model !== undefined && !isSameModel(model, answer.model)) {
    return { kind: 'unusable', reason: 'another model answered', isFinal: true };
  }
  const cachedTokens = answer.usage?.prompt_tokens_details?.cached_tokens;
  // Reasoning fields are never read: a verdict in the model's thinking is no verdict.
  return {
    kind: 'answered',
    content: message.content ?? '',
    promptTokens: answer.usage?.prompt_tokens ?? 0,
    outputTokens: answer.usage?.completion_tokens ?? 0,
    ...(cachedTokens == null ? {} : { cachedTokens }),
    ...logprobsOf(logprobs?.content),
  };
};

/** OpenAI's chat completions as vLLM, llama.cpp and SGLang serve them. Source: https://platform.openai.com/docs/api-reference/chat */
export const openai: Dialect = {
  name: 'openai',
  chatPath: '/v1/chat/completions',
  modelsPath: '/v1/models',
  createBody,
  takesTemplateSettings: true,
  parseReply,
  askTraits: () => ({ method: 'GET', path: '/v1/models' }),
  parseTraits,
  parseModels: (text) => parseJson(Models, text)?.data.map(({ id }) => id),
};
