import { type GuardModelForm, knownCodes } from './form.ts';
import { TAXONOMIES } from './taxonomy.ts';

const CODES = Object.keys(TAXONOMIES.qwen3guard.codes);
const ANSWER = /^(Safety: )(Safe|Controversial|Unsafe)\nCategories: (.+)$/;

/**
 * Qwen3Guard-Gen: the text as the user's message, all categories at once. `Controversial` says less harm than the default threshold
 * and more than the default one for doubt: the text is as controversial for a caller as for the model.
 * Source: QwenLM/Qwen3Guard, README.md.
 */
export const QWEN3GUARD: GuardModelForm = {
  labels: { safe: 0, controversial: 0.4, unsafe: 1 },
  questions: () => [{}],
  parse(answer) {
    const [, before = '', label = '', list = ''] = ANSWER.exec(answer) ?? [];
    if (label === '') return undefined;
    if (label === 'Safe') return list === 'None' ? { label: 'safe', before, codes: [] } : undefined;
    const codes = knownCodes(list.split(', '), CODES);
    return codes && { label: label.toLowerCase(), before, codes };
  },
  outputTokens: 128,
  contextTokens: 32_768,
  promptTokens: 1024,
};
