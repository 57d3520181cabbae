import type { ModelTraits } from '../../src/llm/types.ts';

/** What an answer of a real server means, whatever its words. */
export type Meaning = 'busy' | 'too long' | 'no thinking' | 'no template' | 'unusable' | 'missing' | 'host';

/** An answer as a real server sent it: status, headers and body, but for dates. */
export type RealAnswer = {
  readonly dialect: 'ollama' | 'openai';
  readonly meaning: Meaning;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
};

const OLLAMA_HEADERS = { 'content-type': 'application/json; charset=utf-8' };
const LLAMA_CPP_HEADERS = {
  server: 'llama.cpp',
  'access-control-allow-origin': '',
  'content-type': 'application/json; charset=utf-8',
  connection: 'close',
};
const UVICORN_HEADERS = { server: 'uvicorn', 'content-type': 'application/json' };

const ollama = (meaning: Meaning, status: number, error: string): RealAnswer => ({
  dialect: 'ollama',
  meaning,
  status,
  headers: OLLAMA_HEADERS,
  text: JSON.stringify({ error }),
});
const llamaCpp = (meaning: Meaning, status: number, error: object): RealAnswer => ({
  dialect: 'openai',
  meaning,
  status,
  headers: LLAMA_CPP_HEADERS,
  text: JSON.stringify({ error }),
});
const uvicorn = (meaning: Meaning, body: object): RealAnswer => ({
  dialect: 'openai',
  meaning,
  status: 400,
  headers: UVICORN_HEADERS,
  text: JSON.stringify(body),
});

const VLLM_TOO_LONG =
  "This model's maximum context length is 4096 tokens. However, you requested 5120 tokens (1024 in the messages, 4096 in the completion). Please reduce the length of the messages or completion.";

/** How real servers refuse and fail, by server and cause. llama.cpp: sent by build 11549. Ollama: 0.17.4 and 0.33. */
export const REAL_ERRORS: Readonly<Record<string, RealAnswer>> = {
  'Ollama with a full queue': ollama('busy', 503, 'server busy, please try again.  maximum pending requests exceeded'),
  'Ollama 0.17 with too long a prompt': ollama('too long', 400, 'the input length exceeds the context length'),
  'Ollama 0.30 with too long a prompt': ollama(
    'too long',
    400,
    'request (24018 tokens) exceeds the available context size (16384 tokens), try increasing it',
  ),
  'Ollama on MLX with too long a prompt': ollama(
    'too long',
    400,
    "input length (24018 tokens) exceeds the model's maximum context length (16384 tokens)",
  ),
  'Ollama with a model that does not think': ollama('no thinking', 400, '"tiny:latest" does not support thinking'),
  'Ollama with a template that fails': ollama(
    'no template',
    500,
    'template: :3:11: executing "" at <index .Messages 7>: error calling index: index out of range: 7',
  ),
  'Ollama without the model': ollama('missing', 404, "model 'tiny' not found"),
  'Ollama whose runner died': ollama('host', 500, 'llama runner process has terminated: signal: killed'),
  'llama.cpp while it loads': llamaCpp('busy', 503, {
    message: 'Loading model',
    type: 'unavailable_error',
    code: 503,
  }),
  'llama.cpp with too long a prompt': llamaCpp('too long', 400, {
    code: 400,
    message: 'request (24018 tokens) exceeds the available context size (16384 tokens), try increasing it',
    type: 'exceed_context_size_error',
    n_prompt_tokens: 24018,
    n_ctx: 16384,
  }),
  'llama.cpp with a template that fails': llamaCpp('no template', 400, {
    code: 400,
    message:
      "Unable to generate parser for this template. Automatic parser generation failed: \n------------\nWhile executing CallExpression at line 1, column 69 in source:\n... 'bad' in m.content %}{{ raise_exception('Conversation roles must alternate') }}...\n                                           ^\nError: Jinja Exception: Conversation roles must alternate",
    type: 'invalid_request_error',
  }),
  'llama.cpp whose model was cut off under a schema': llamaCpp('unusable', 500, {
    code: 500,
    message: 'The model produced output that does not match the expected peg-native format',
    type: 'server_error',
  }),
  'vLLM before 0.10 with too long a prompt': uvicorn('too long', {
    object: 'error',
    message: VLLM_TOO_LONG,
    type: 'BadRequestError',
    param: null,
    code: 400,
  }),
  'vLLM with too long a prompt': uvicorn('too long', {
    error: { message: VLLM_TOO_LONG, type: 'BadRequestError', param: null, code: 400 },
  }),
  'SGLang with too long a prompt': uvicorn('too long', {
    object: 'error',
    message: "The input (5120 tokens) is longer than the model's context length (4096 tokens).",
    type: 'BadRequestError',
    param: null,
    code: 400,
  }),
};

const shown = (body: object): string =>
  JSON.stringify({
    license: 'Apache License',
    parameters: 'temperature                    1',
    details: { parent_model: '', format: 'gguf', family: 'llama', families: ['llama'] },
    model_info: { 'general.architecture': 'llama' },
    modified_at: '2026-11-22T19:30:12.123456789Z',
    ...body,
  });
const modelfile = (...lines: readonly string[]): string =>
  ['# Modelfile generated by "ollama show"', 'FROM /models/blobs/sha256-0', ...lines].join('\n');
const listed = (entry: object, model: object = {}): string =>
  JSON.stringify({
    models: [{ name: 'tiny', model: 'tiny', type: 'model', ...model }],
    object: 'list',
    data: [{ id: 'tiny', object: 'model', created: 1795375924, owned_by: 'llamacpp', ...entry }],
  });

/** What real servers tell about the model `tiny`, and what that means. Ollama answers /api/show, the others list models. */
export const REAL_MODELS: Readonly<
  Record<string, { readonly dialect: 'ollama' | 'openai'; readonly text: string; readonly traits: ModelTraits }>
> = {
  'Ollama with an import without a template': {
    dialect: 'ollama',
    text: shown({
      modelfile: modelfile('TEMPLATE {{ .Prompt }}'),
      template: '{{ .Prompt }}',
      capabilities: ['completion'],
    }),
    traits: { vision: false, thinking: false, dropsSystem: true },
  },
  'Ollama with a template for a system message': {
    dialect: 'ollama',
    text: shown({
      modelfile: modelfile('TEMPLATE {{ .System }} {{ .Prompt }}'),
      template: '{{ if .System }}<|system|>{{ .System }}{{ end }}{{ .Prompt }}',
      capabilities: ['completion', 'tools'],
    }),
    traits: { vision: false, thinking: false, dropsSystem: false },
  },
  'Ollama with a template for messages': {
    dialect: 'ollama',
    text: shown({
      template: '{{- range $i, $_ := .Messages }}{{ .Content }}{{ end }}',
      capabilities: ['completion', 'vision', 'thinking'],
    }),
    traits: { vision: true, thinking: true, dropsSystem: false },
  },
  "Ollama with a GGUF file's own template": {
    dialect: 'ollama',
    text: shown({
      template: '{% for message in messages %}{{ message.content }}{% endfor %}',
      capabilities: ['completion'],
    }),
    traits: { vision: false, thinking: false, dropsSystem: false },
  },
  'Ollama with a renderer of its own': {
    dialect: 'ollama',
    text: shown({
      modelfile: modelfile('TEMPLATE {{ .Prompt }}', 'RENDERER qwen3-vl-instruct', 'PARSER qwen3-vl-instruct'),
      template: '{{ .Prompt }}',
      capabilities: ['completion', 'vision'],
    }),
    traits: { vision: true, thinking: false },
  },
  'Ollama with a renderer that it tells': {
    dialect: 'ollama',
    text: shown({ template: '{{ .Prompt }}', renderer: 'gemma4', capabilities: ['completion'] }),
    traits: { vision: false, thinking: false },
  },
  'Ollama with a model of its cloud': {
    dialect: 'ollama',
    text: shown({
      template: '{{ .Prompt }}',
      remote_model: 'gpt-oss:20b',
      remote_host: 'https://ollama.com:443',
      capabilities: ['completion', 'tools', 'thinking'],
    }),
    traits: { vision: false, thinking: true },
  },
  'Ollama before 0.6.4': {
    dialect: 'ollama',
    text: shown({ template: '{{ .System }}{{ .Prompt }}' }),
    traits: { dropsSystem: false },
  },
  'llama.cpp with a text model': {
    dialect: 'openai',
    text: listed({ architecture: { input_modalities: ['text'], output_modalities: ['text'] } }),
    traits: { vision: false },
  },
  'llama.cpp with a model for images': {
    dialect: 'openai',
    text: listed({ architecture: { input_modalities: ['text', 'image'], output_modalities: ['text'] } }),
    traits: { vision: true },
  },
  'llama.cpp of 2025 with a text model': {
    dialect: 'openai',
    text: listed({}, { capabilities: ['completion'] }),
    traits: { vision: false },
  },
  'llama.cpp of 2025 with a model for images': {
    dialect: 'openai',
    text: listed({}, { capabilities: ['completion', 'multimodal'] }),
    traits: { vision: true },
  },
  'vLLM, which tells nothing': {
    dialect: 'openai',
    text: JSON.stringify({
      object: 'list',
      data: [{ id: 'tiny', object: 'model', created: 1, owned_by: 'vllm', root: 'tiny', max_model_len: 4096 }],
    }),
    traits: {},
  },
};

/** A whole answer of a real server, with the content that its model is to have written. */
export type RealReply = {
  readonly dialect: 'ollama' | 'openai';
  readonly headers: Readonly<Record<string, string>>;
  readonly write: (model: string, content: string, promptTokens: number) => object;
};

const usageOf = (prompt: number) => ({ completion_tokens: 136, prompt_tokens: prompt, total_tokens: prompt + 136 });

/** How real servers answer when all is well. */
export const REAL_REPLIES: Readonly<Record<string, RealReply>> = {
  'Ollama 0.17': {
    dialect: 'ollama',
    headers: OLLAMA_HEADERS,
    write: (model, content, promptTokens) => ({
      model,
      created_at: '2026-11-22T19:30:12.123456789Z',
      message: { role: 'assistant', content },
      done: true,
      done_reason: 'stop',
      total_duration: 4_935_886_791,
      load_duration: 534_986_708,
      prompt_eval_count: promptTokens,
      prompt_eval_duration: 107_345_000,
      eval_count: 136,
      eval_duration: 4_289_432_000,
    }),
  },
  'Ollama before 0.2, whose prompt was in its cache': {
    dialect: 'ollama',
    headers: OLLAMA_HEADERS,
    write: (model, content) => ({
      model,
      created_at: '2024-04-08T19:30:12.123456Z',
      message: { role: 'assistant', content },
      done: true,
      done_reason: 'stop',
      eval_count: 136,
    }),
  },
  'llama.cpp': {
    dialect: 'openai',
    headers: { ...LLAMA_CPP_HEADERS, 'keep-alive': 'timeout=5, max=100' },
    write: (model, content, promptTokens) => ({
      choices: [{ finish_reason: 'stop', index: 0, message: { role: 'assistant', content } }],
      created: 1795376001,
      model,
      system_fingerprint: 'b11549-0000000',
      object: 'chat.completion',
      usage: { ...usageOf(promptTokens), prompt_tokens_details: { cached_tokens: promptTokens - 1 } },
      id: 'chatcmpl-o31g9YojrLOOxDoQgTyExnqHh0kyoaZp',
      timings: { cache_n: promptTokens - 1, prompt_n: 1, prompt_ms: 22.5, predicted_n: 136, predicted_ms: 453.096 },
    }),
  },
  vLLM: {
    dialect: 'openai',
    headers: UVICORN_HEADERS,
    write: (model, content, promptTokens) => ({
      id: 'chatcmpl-4c6a1e2d',
      object: 'chat.completion',
      created: 1795376001,
      model,
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            content,
            refusal: null,
            annotations: null,
            audio: null,
            function_call: null,
            tool_calls: [],
            reasoning: 'It is harmless.',
          },
          logprobs: null,
          finish_reason: 'stop',
          stop_reason: null,
        },
      ],
      service_tier: null,
      usage: { ...usageOf(promptTokens), prompt_tokens_details: null },
      prompt_logprobs: null,
    }),
  },
  SGLang: {
    dialect: 'openai',
    headers: UVICORN_HEADERS,
    write: (model, content, promptTokens) => ({
      id: 'd5a8b4a0',
      object: 'chat.completion',
      created: 1795376001,
      model,
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content, reasoning_content: null, tool_calls: null },
          logprobs: null,
          finish_reason: 'stop',
          matched_stop: 151645,
        },
      ],
      usage: { ...usageOf(promptTokens), prompt_tokens_details: null },
    }),
  },
  'a server that tells no usage': {
    dialect: 'openai',
    headers: {},
    write: (model, content) => ({ model, choices: [{ message: { content }, finish_reason: 'stop' }] }),
  },
};
