import { Fault } from '../../../core/fault.ts';
import type { GatewayFault } from '../../errors.ts';
import type { ItemVerdict, ModerationItem } from '../../judge/types.ts';
import { DEFAULT_ALIAS, type ModelAlias } from '../../models.ts';
import { highestScores } from '../../policy/categories.ts';
import { forEachPolicy, type Policy, withGuardCategories } from '../../policy/policy.ts';
import type { Found } from '../chat-texts/members.ts';
import type { RequestObserver } from '../observer.ts';
import type { RouteParts } from '../parts.ts';
import type { InputRules, ParsedItem } from '../request.ts';
import { listed, verdictHeaders } from '../verdict-headers.ts';

/** What a product has judged, all of it as one: texts in their order, those of a message together, and the addresses of images. */
export type GuardrailInput = { readonly texts: readonly Found[]; readonly images: readonly string[] };
type CheckedInput = { readonly texts: readonly string[]; readonly images: readonly string[] };

/** The categories that are over their threshold, by the names of the policy; none: nothing speaks against it. */
export type GuardrailVerdict = {
  readonly categories: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
};

type GuardrailQuestion = {
  readonly read: (body: unknown) => GuardrailInput;
  readonly respond: (verdict: GuardrailVerdict) => Response;
  /** The time for an answer, where it is less than the gateway's own and the request names none. */
  readonly limitMs?: number;
  /** The request that shows the gateway key, where it is not in the usual header. */
  readonly shownBy?: Request;
  readonly observer: RequestObserver | undefined;
};

/** Judges a product's request and has it answered. Throws every failure: nothing is answered without a verdict on all of it. */
export type AskGuardrail = (request: Request, question: GuardrailQuestion) => Promise<Response>;

/** Names the alias that judges. A header, because the operator sets it at the product: users write what is in the body. */
const ALIAS_HEADER = 'x-moderation-model';

/**
 * At most `most` texts from any number, neighbours joined in groups of two, four, eight and so on: a conversation that grows keeps its
 * groups, and their verdicts are found again.
 */
export const groupTexts = (texts: readonly string[], most: number): readonly string[] => {
  let size = 1;
  while (Math.ceil(texts.length / size) > most) size *= 2;
  return Array.from({ length: Math.ceil(texts.length / size) }, (_, index) =>
    texts.slice(index * size, (index + 1) * size).join('\n\n'),
  );
};

const badInput = (code: string, message: string): Fault => new Fault({ kind: 'bad-input', code, param: null, message });

/** What is left of texts that may come twice or be empty. Throws `bad-input` where they or the images are too many, too long, or none. */
const checkedInput = ({ texts, images }: GuardrailInput, { inputs, chars }: InputRules['limits']): CheckedInput => {
  const together = texts.map(({ written, joined }) => [...written, ...joined].filter((text) => text !== '').join('\n'));
  const judged = [...new Set(together)].filter((text) => text !== '');
  const shown = [...new Set(images)];
  if (judged.length + shown.length === 0) throw badInput('empty_input', 'Expected a text or an image to judge');
  if (texts.some(({ written }) => written.some(({ length }) => length > chars)))
    throw badInput('input_too_long', `Expected at most ${chars} characters in each text, as MAX_INPUT_CHARS allows`);
  if (shown.length > inputs - Math.min(1, judged.length))
    throw badInput('too_many_inputs', `Expected fewer images: ${inputs} texts and images, as MAX_INPUTS allows`);
  return { texts: groupTexts(judged, inputs - shown.length), images: shown };
};

const isUnjudged = ({ kind }: GatewayFault): boolean => kind === 'unjudged-input';

/** Creates what all integrations ask: the judging of `/v1/moderations`, for a whole conversation at once. */
export const createGuardrail = (parts: RouteParts): AskGuardrail => {
  const { answerWithin, callers, findAlias, policies, inputRules, readInput } = parts;
  const judgedAs = (judged: Policy) => ({ judged, moderate: parts.moderateBy(judged) });
  const plainOf = forEachPolicy(policies, judgedAs);
  const guardOf = forEachPolicy(policies, (policy) => judgedAs(withGuardCategories(policy)));

  const readImage = async (url: string, alias: ModelAlias, signal: AbortSignal): Promise<readonly ParsedItem[]> =>
    readInput([{ type: 'image_url', image_url: { url } }], alias, signal);

  const readItems = async (
    { texts, images }: CheckedInput,
    alias: ModelAlias,
    signal: AbortSignal,
  ): Promise<{ readonly items: readonly ModerationItem[]; readonly leftOut: readonly string[] }> => {
    const read = await Promise.all(
      images.map((url) =>
        readImage(url, alias, signal).catch((error: unknown) => {
          const mayLeaveOut = inputRules.unjudged === 'text' && texts.length > 0;
          if (mayLeaveOut && error instanceof Fault && isUnjudged(error.detail)) return [];
          throw error;
        }),
      ),
    );
    const leftOut = read.some((items) => items.length === 0) ? ['image'] : [];
    return { items: [...texts.map((text) => ({ text })), ...read.flat()], leftOut };
  };

  const verdictOf = (policy: Policy, verdicts: readonly ItemVerdict[]): readonly string[] => {
    const scores = highestScores(
      verdicts.map((verdict) => verdict.scores),
      policy.categories.length,
    );
    return policy.categories
      .filter(({ threshold }, index) => (scores[index] ?? 1) >= threshold)
      .map(({ name }) => name);
  };

  return async (request, { read, respond, observer, limitMs, shownBy = request }) => {
    const caller = await callers.identify(shownBy);
    await callers.count(caller);
    return answerWithin(
      request,
      async (deadline) => {
        const alias = findAlias(request.headers.get(ALIAS_HEADER) ?? DEFAULT_ALIAS);
        observer?.describe(alias.alias);
        const policy = policies.select(alias.alias, caller.keyIndex);
        const judge = (alias.guard === undefined ? plainOf : guardOf)(policy);
        const input = checkedInput(read(await parts.bodies.readJson(request, deadline.signal)), inputRules.limits);
        const { items, leftOut } = await readItems(input, alias, deadline.signal);
        const verdicts = await judge.moderate(items, alias, { ...deadline, owner: caller.owner });
        if (verdicts.length !== items.length) throw new TypeError('An item without a verdict');
        observer?.judged({ policy: judge.judged, verdicts });
        const categories = verdictOf(judge.judged, verdicts);
        const isCached = verdicts.every((verdict) => verdict.isCached);
        parts.metrics.verdict({ alias: alias.alias, isFlagged: categories.length > 0, isCached });
        const headers = { ...verdictHeaders(alias, policy, verdicts), 'x-moderation-unjudged': listed(leftOut) };
        return respond({ categories, headers });
      },
      limitMs,
    );
  };
};
