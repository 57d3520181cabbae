import type { Deadline } from '../../../core/async.ts';
import { Fault } from '../../../core/fault.ts';
import type { ChatCall } from '../../../llm/types.ts';
import type { GatewayFault } from '../../errors.ts';
import type { ModelAlias } from '../../models.ts';
import type { Policy } from '../../policy/policy.ts';
import { splitWindows } from '../../text/normalize.ts';
import { type Asked, askTwice, type SecondCall } from '../ask-twice.ts';
import type { CallJudge } from '../call.ts';
import type { Excerpt, Judge, JudgedScores, Judging, ScoreType } from '../types.ts';
import type { GuardModelForm, GuardModelQuestion } from './form.ts';
import { GRANITE_GUARDIAN } from './granite-guardian.ts';
import { LLAMA_GUARD } from './llama-guard.ts';
import { readLikelihood, TOP_LOGPROBS } from './probability.ts';
import { QWEN3GUARD } from './qwen3guard.ts';
import { SHIELDGEMMA } from './shieldgemma.ts';
import { coverageOf, type GuardModelKind, TAXONOMIES } from './taxonomy.ts';
import { quotePromptLines } from './user-text.ts';

type GuardModelJudgeNeeds = Pick<Judging, 'onUnusable' | 'settings'> & {
  readonly callJudge: CallJudge;
  readonly policy: Policy;
};

const FORMS: Readonly<Record<GuardModelKind, GuardModelForm>> = {
  qwen3guard: QWEN3GUARD,
  'llama-guard': LLAMA_GUARD,
  shieldgemma: SHIELDGEMMA,
  'granite-guardian': GRANITE_GUARDIAN,
};

/** A token is at least one UTF-8 byte, and a UTF-16 unit at most three: no script is denser than this. */
const TOKENS_PER_CHAR_LIMIT = 3;
/** From here on an answer that says harm counts, however its words share the probability. */
const HARM = 0.5;

/** How long a text one call judges: as long as is allowed, and as the smallest model of the kind holds in every script. */
const windowCharsOf = ({ contextTokens, promptTokens, outputTokens }: GuardModelForm, windowChars: number): number =>
  Math.min(windowChars, Math.floor((contextTokens - promptTokens - outputTokens) / TOKENS_PER_CHAR_LIMIT));

/** The most calls that a judge of this kind makes about one window of `windowChars`. */
export const guardModelCallsPerWindow = (kind: GuardModelKind, model: string, windowChars: number): number => {
  const form = FORMS[kind];
  // Windows overlap by a tenth at most.
  const windows = Math.ceil(windowChars / (0.9 * windowCharsOf(form, windowChars)));
  return form.questions(model).length * windows;
};

/** Everything of a kind's form that changes a verdict, as one text: an answer that was read otherwise is not to be found again. */
export const guardModelFormKey = (kind: GuardModelKind, model: string): string => {
  const { labels, contextTokens, promptTokens, outputTokens, questions } = FORMS[kind];
  return JSON.stringify([TAXONOMIES[kind], labels, contextTokens, promptTokens, outputTokens, questions(model)]);
};

/** What one answer says of its codes, or of all that was asked where it has none: how much harm there is, and whether its words say so. */
type Finding = {
  readonly codes: readonly string[];
  readonly harm: number;
  readonly isNamed: boolean;
  readonly scoreType: ScoreType;
  /** Where settings of the chat template say what is asked: which kind of call was answered, and its tokens. */
  readonly asked: string | undefined;
};

/**
 * Whether a server has left out what the settings of the chat template ask: questions of different lengths about one text then make prompts
 * of the same length. Each answer is about the same question, and none about the others.
 */
const isSameQuestion = (findings: readonly Finding[]): boolean => {
  const [first] = findings;
  return findings.length > 2 && findings.every(({ asked }) => asked !== undefined && asked === first?.asked);
};
const SAME_QUESTION =
  'the server counts the same tokens for each question: it leaves out chat_template_kwargs, which say what the model is to look for';

/** A probability in hundredths, never so certain as a word. */
const inHundredths = (harm: number): number => Math.min(0.99, Math.max(0.01, Math.round(harm * 100) / 100));

/** Creates a judge that asks guard models of one kind, in their form. */
export const createGuardModelJudge = (kind: GuardModelKind, needs: GuardModelJudgeNeeds): Judge => {
  const { callJudge, onUnusable } = needs;
  const { categories } = needs.policy;
  const form = FORMS[kind];
  const { codes: categoriesOf } = TAXONOMIES[kind];
  const windowChars = windowCharsOf(form, needs.settings.MODERATION_WINDOW_CHARS);
  const covers = coverageOf(kind, { categories });

  const callFor = (
    { text, image }: Excerpt,
    { model }: ModelAlias,
    { code: _, ...question }: GuardModelQuestion,
    second?: SecondCall,
  ): ChatCall => ({
    model,
    // No cache of a backend holds a prompt that begins differently.
    user: `${second?.kind === 'uncached' ? '\n' : ''}${quotePromptLines(text)}`,
    ...question,
    contextTokens: form.promptTokens + windowChars * TOKENS_PER_CHAR_LIMIT + form.outputTokens,
    outputTokens: form.outputTokens,
    ...(image === undefined ? {} : { image }),
    // Ollama has every model think that can. Some servers refuse a call for either of these.
    ...(second?.kind === 'repair' ? {} : { think: false, topLogprobs: TOP_LOGPROBS }),
  });

  const ask = (
    excerpt: Excerpt,
    alias: ModelAlias,
    question: GuardModelQuestion,
    deadline: Deadline,
  ): Promise<Finding> =>
    askTwice(
      async (second): Promise<Asked<Finding>> => {
        const reply = await callJudge(callFor(excerpt, alias, question, second), deadline, second?.avoid);
        if (reply.kind !== 'content') return reply;
        const { content, logprobs, key, tokensBySettings: tokens = 0 } = reply;
        const answer = form.parse(content.trim(), alias.model);
        const labelHarm = answer === undefined ? undefined : form.labels[answer.label];
        if (answer === undefined || labelHarm === undefined)
          return { kind: 'unusable', reason: `not in the form of ${kind}`, key };
        const codes = question.code === undefined ? answer.codes : [question.code];
        const asked = tokens > 0 ? `${second?.kind ?? 'first'} ${tokens}` : undefined;
        const likelihood = logprobs && readLikelihood(logprobs, answer, form.labels);
        if (likelihood?.kind === 'unusable') return { ...likelihood, key };
        if (likelihood === undefined)
          return {
            kind: 'verdict',
            verdict: { codes, harm: labelHarm, isNamed: labelHarm > 0, scoreType: 'binary', asked },
          };
        const harm = inHundredths(Math.max(likelihood.harm, Math.min(labelHarm, HARM)));
        return { kind: 'verdict', verdict: { codes, harm, isNamed: labelHarm > 0, scoreType: 'probability', asked } };
      },
      (reason) => onUnusable(alias.model, reason),
    );

  const askAll = async (window: Excerpt, alias: ModelAlias, deadline: Deadline): Promise<readonly Finding[]> => {
    const findings = await Promise.all(
      form.questions(alias.model).map((question) => ask(window, alias, question, deadline)),
    );
    if (!isSameQuestion(findings)) return findings;
    onUnusable(alias.model, SAME_QUESTION);
    throw new Fault<GatewayFault>({ kind: 'backend-unusable', reason: SAME_QUESTION });
  };

  /**
   * What it covers and no answer names is as harmful as an answer without codes says. Of the rest only what an answer names is known.
   */
  const scoresOf = (findings: readonly Finding[]): readonly (number | undefined)[] =>
    categories.map(({ name }, index) => {
      const named = findings.filter(({ codes }) =>
        codes.some((code) => categoriesOf[code]?.some((category) => category === name)),
      );
      const open = findings.filter(({ codes }) => codes.length === 0);
      if (covers[index] === true) return Math.max(0, ...[...named, ...open].map(({ harm }) => harm));
      const beside = named.filter(({ isNamed }) => isNamed).map(({ harm }) => harm);
      return beside.length === 0 ? undefined : Math.max(...beside);
    });

  const isCovered = (code: string): boolean =>
    categories.some(({ name }, index) => covers[index] === true && categoriesOf[code]?.some((one) => one === name));
  /** A word is more than a probability: what is named is found. */
  const otherHarmOf = (findings: readonly Finding[]): number =>
    Math.max(
      0,
      ...findings
        .filter(({ codes }) => codes.some((code) => !isCovered(code)))
        .map(({ isNamed, harm }) => (isNamed ? 1 : harm)),
    );

  return {
    covers,
    async judge(excerpt, alias, deadline): Promise<JudgedScores> {
      const [first, ...rest] = splitWindows(excerpt.text, windowChars);
      const { image: _, ...withoutImage } = excerpt;
      const windows = [{ ...excerpt, text: first ?? '' }, ...rest.map((text) => ({ ...withoutImage, text }))];
      const findings = (await Promise.all(windows.map((window) => askAll(window, alias, deadline)))).flat();
      const isBinary = findings.some(({ scoreType }) => scoreType === 'binary');
      const scoreType = isBinary ? 'binary' : 'probability';
      return { scores: scoresOf(findings), scoreType, otherHarm: otherHarmOf(findings) };
    },
  };
};
