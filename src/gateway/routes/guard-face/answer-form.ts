import * as v from 'valibot';
import { Fault } from '../../../core/fault.ts';
import type { ModelAlias } from '../../models.ts';
import { CATEGORY_NAMES } from '../../policy/categories.ts';

/**
 * How a request is answered. `text`: in Qwen3Guard's words. `json`: `safety` and `categories`, these of `names` alone where the
 * request lists them. `scores`: `flagged` and the scores of OpenAI's 13 categories.
 */
export type AnswerForm =
  | { readonly kind: 'text' }
  | { readonly kind: 'json'; readonly names?: readonly string[] }
  | { readonly kind: 'scores' };

/** What is read of `response_format`: the members that an answer is to have. */
const Wanted = v.object({
  type: v.literal('json_schema'),
  json_schema: v.object({ schema: v.object({ properties: v.record(v.string(), v.unknown()) }) }),
});
const Names = v.object({ items: v.object({ enum: v.array(v.string()) }) });
const Scores = v.object({ properties: v.record(v.string(), v.unknown()) });

const hasExactly = (value: Readonly<Record<string, unknown>>, names: readonly string[]): boolean =>
  Object.keys(value).length === names.length && names.every((name) => Object.hasOwn(value, name));

/**
 * The form that a JSON schema asks for; undefined where it is none of ours. A name of the schema says nothing: the members do.
 * Source: MIEnchating/sub2api, backend/internal/securityaudit/prompt_qwen3guard.go and service/content_moderation.go.
 */
const schemaForm = (responseFormat: unknown): AnswerForm | undefined => {
  const wanted = v.safeParse(Wanted, responseFormat);
  if (!wanted.success) return undefined;
  const { properties } = wanted.output.json_schema.schema;
  if (hasExactly(properties, ['safety', 'categories'])) {
    const names = v.safeParse(Names, properties.categories);
    return { kind: 'json', ...(names.success ? { names: names.output.items.enum } : {}) };
  }
  const scores = v.safeParse(Scores, properties.category_scores);
  const isScored = scores.success && hasExactly(scores.output.properties, CATEGORY_NAMES);
  return isScored && hasExactly(properties, ['flagged', 'category_scores']) ? { kind: 'scores' } : undefined;
};

/**
 * The form of an answer: what a JSON schema of the request asks for, or else that of the alias. Throws `bad-input` where there
 * is neither. `json_object` alone names no members, so that the alias decides.
 */
export const answerFormOf = ({ guard }: ModelAlias, responseFormat: unknown): AnswerForm => {
  const asked = schemaForm(responseFormat);
  if (asked !== undefined) return asked;
  if (guard !== undefined) return { kind: guard };
  throw new Fault({
    kind: 'bad-input',
    code: 'no_guard_face',
    param: 'model',
    message: 'This model does not answer as a guard: give its alias "guard": "text" or "json" in MODERATION_MODELS',
  });
};
