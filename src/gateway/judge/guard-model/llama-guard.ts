import { type GuardModelForm, knownCodes } from './form.ts';
import { TAXONOMIES } from './taxonomy.ts';

const CODES = Object.keys(TAXONOMIES['llama-guard'].codes);
/** The small model of version 3 was not trained on the last code. */
const CODES_OF_1B = CODES.filter((code) => code !== 'S14');
const SMALL_MODEL = /guard-?_?3.*(?<!\d)1b/i;
const ANSWER = /^unsafe\n(S\d{1,2}(?:,S\d{1,2})*)$/;

/**
 * Llama Guard 3 and 4: the text as the user's message, all categories at once.
 * Source: meta-llama/PurpleLlama, Llama-Guard3/8B/MODEL_CARD.md, Llama-Guard3/1B/MODEL_CARD.md, Llama-Guard4/12B/MODEL_CARD.md.
 */
export const LLAMA_GUARD: GuardModelForm = {
  labels: { safe: 0, unsafe: 1 },
  questions: () => [{}],
  parse(answer, model) {
    if (answer === 'safe') return { label: 'safe', before: '', codes: [] };
    const list = ANSWER.exec(answer)?.[1]?.split(',') ?? [];
    const codes = knownCodes(list, SMALL_MODEL.test(model) ? CODES_OF_1B : CODES);
    return codes && { label: 'unsafe', before: '', codes };
  },
  outputTokens: 64,
  // They have more. A larger one costs memory, and judging a long text at once costs accuracy.
  contextTokens: 32_768,
  promptTokens: 1024,
};
