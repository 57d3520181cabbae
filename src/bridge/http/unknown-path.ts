const ROUTES =
  'This bridge answers /v1/models, /v1/chat/completions, /v1/completions, /v1/responses, /v1/conversations, /health, /ready, /metrics, /openapi.json';

/** What clients of OpenAI's API ask for that an agent does not have, and what to do. */
const ELSEWHERE: readonly (readonly [RegExp, string])[] = [
  [
    /^\/v1\/(?:files|uploads)$/,
    'No files are stored here: send the data in the message, as a data: URL in an image_url, file or input_file part',
  ],
  [/^\/v1\/embeddings$/, 'There are no embeddings here: give the client another base URL for them'],
  [/^\/v1\/(?:images|videos)$/, 'No images or videos are made here: give the client another base URL for them'],
  [
    /^\/v1\/audio$/,
    'No speech is made or written down here: give the client another base URL for it. A chat takes audio as an input_audio part',
  ],
  [/^\/v1\/moderations$/, 'There are no moderations here: the base URL for them is that of the moderation gateway'],
  [/^\/v1\/messages$/, "This is OpenAI's API, not Anthropic's: use a client of OpenAI, or its provider in yours"],
  [
    /^\/v1\/(?:assistants|threads|vector_stores)$/,
    'There are no assistants, threads or vector stores here: use /v1/responses with previous_response_id or a conversation',
  ],
  [/^\/v1\/(?:batches|fine_tuning|evals)$/, 'There are no batches, fine-tuning or evals here'],
  [/^\/api\/(?:chat|generate|tags)$/, "This is OpenAI's API, not Ollama's: the base URL ends in /v1"],
];

/** What is wrong with a path that has no route, in words for the author of a client. */
export const hintForBridgePath = (path: string): string => {
  if (path.startsWith('/v1/v1')) return 'The path holds /v1 twice: give the base URL with one /v1 at its end';
  const [family = ''] = /^\/\w{1,20}\/\w{1,40}(?=\/|$)/.exec(path) ?? [];
  const elsewhere = ELSEWHERE.find(([paths]) => paths.test(family));
  if (elsewhere !== undefined) return elsewhere[1];
  if (/^\/(?:chat\/completions|completions|responses|conversations|models)/.test(path))
    return 'The path lacks /v1: the base URL must end in /v1';
  return `No such path. ${ROUTES}`;
};
