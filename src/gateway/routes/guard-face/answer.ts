import { encodeSse } from '../../../core/http/sse.ts';
import { CATEGORY_NAMES, type CategoryScores } from '../../policy/categories.ts';
import type { AnswerForm } from './answer-form.ts';
import type { GuardVerdict } from './verdict.ts';

/** An answer of the guard face: what it says, and about what request. */
export type GuardAnswer = {
  readonly id: string;
  readonly createdSeconds: number;
  /** The alias that was asked for. */
  readonly model: string;
  readonly content: string;
};

/** A category's name however it is written: `Suicide & Self-Harm` and `suicide_and_self_harm` are the same. */
const plainName = (name: string): string =>
  name
    .toLowerCase()
    .replaceAll('&', ' and ')
    .replace(/[\s_/-]+/g, ' ')
    .trim();

/** Categories by the names that a request lists. What it does not list is left out: how safe the text is stands beside them. */
const listedNames = (categories: readonly string[], names: readonly string[]): readonly string[] => {
  const wanted = categories.map(plainName);
  return names.filter((name) => wanted.includes(plainName(name)));
};

/**
 * A verdict in the words of Qwen3Guard, or as the JSON that some relay platforms ask a chat model for. The words are exact: such a
 * platform takes `Safe.` or `**Safe**` for no verdict, and wants `None` where there is no category.
 */
export const guardContent = (
  { safety, categories }: GuardVerdict,
  form: Exclude<AnswerForm, { readonly kind: 'scores' }>,
): string =>
  form.kind === 'json'
    ? JSON.stringify({
        safety,
        categories: form.names === undefined ? categories : listedNames(categories, form.names),
      })
    : `Safety: ${safety}\nCategories: ${categories.length === 0 ? 'None' : categories.join(', ')}`;

/** Scores as the JSON that some relay platforms ask a chat model for: of OpenAI's 13 categories, whatever else was judged. */
export const scoresContent = (flagged: boolean, scores: CategoryScores): string =>
  JSON.stringify({
    flagged,
    // A missing score counts as 1, as everywhere.
    category_scores: Object.fromEntries(CATEGORY_NAMES.map((name, index) => [name, scores[index] ?? 1])),
  });

const envelope = ({ id, createdSeconds, model }: GuardAnswer, object: string) => ({
  id,
  object,
  created: createdSeconds,
  model,
});

/** The body of an answer: a chat completion. The tokens are those of the judge's backend, and not counted here. */
export const chatCompletionJson = (answer: GuardAnswer): string =>
  JSON.stringify({
    ...envelope(answer, 'chat.completion'),
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: answer.content, refusal: null },
        logprobs: null,
        finish_reason: 'stop',
      },
    ],
    usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
  });

/** The same as a whole stream of events: a verdict has no parts. */
export const chatCompletionEvents = (answer: GuardAnswer): string => {
  const chunk = (delta: object, finish: string | null): string =>
    encodeSse({
      data: JSON.stringify({
        ...envelope(answer, 'chat.completion.chunk'),
        choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
      }),
    });
  return `${chunk({ role: 'assistant', content: answer.content }, null)}${chunk({}, 'stop')}${encodeSse({ data: '[DONE]' })}`;
};
