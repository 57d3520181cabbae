import type { ChatCall } from '../../llm/types.ts';
import type { ModelAlias } from '../models.ts';
import type { CategoryScores } from '../policy/categories.ts';
import type { Policy } from '../policy/policy.ts';
import { type Asked, askTwice, type SecondCall } from './ask-twice.ts';
import type { CallJudge } from './call.ts';
import { coverageOf } from './guard-model/taxonomy.ts';
import { type JudgePrompts, OUTPUT_TOKENS } from './prompt.ts';
import type { Excerpt, Judge, Judging } from './types.ts';
import { createVerdictParser } from './verdict.ts';

type PromptJudgeNeeds = Pick<Judging, 'contextTokens' | 'newNonce' | 'onUnusable'> & {
  readonly callJudge: CallJudge;
  readonly policy: Policy;
  readonly prompts: JudgePrompts;
};

/** Creates the judge that tells a chat model the policy. It asks once more when the first answer holds no usable verdict, if that may help. */
export const createPromptJudge = (needs: PromptJudgeNeeds): Judge => {
  const { callJudge, prompts, contextTokens } = needs;
  const parseVerdict = createVerdictParser(needs.policy);

  const nonceFor = (text: string): string => {
    const nonce = needs.newNonce();
    return text.includes(nonce) ? nonceFor(text) : nonce;
  };

  const callFor = (excerpt: Excerpt, { model, think }: ModelAlias, nonce: string, second?: SecondCall): ChatCall => ({
    model,
    system: second?.kind === 'uncached' ? `Call ${nonce}.\n\n${prompts.system}` : prompts.system,
    user: prompts.user(excerpt, nonce, second?.kind === 'repair'),
    contextTokens,
    outputTokens: OUTPUT_TOKENS,
    ...(excerpt.image === undefined ? {} : { image: excerpt.image }),
    ...(think === undefined ? {} : { think }),
    // Some servers answer nothing, or nonsense, under a grammar: the repair call has none.
    ...(second?.kind === 'repair' ? {} : { schema: prompts.schema }),
  });

  return {
    covers: coverageOf('prompt', needs.policy),
    async judge(excerpt, alias, deadline) {
      const ask = async (second?: SecondCall): Promise<Asked<CategoryScores>> => {
        const nonce = nonceFor(excerpt.text);
        const reply = await callJudge(callFor(excerpt, alias, nonce, second), deadline, second?.avoid);
        if (reply.kind !== 'content') return reply;
        const parsed = parseVerdict(reply.content, nonce);
        return parsed.kind === 'verdict' ? parsed : { ...parsed, key: reply.key };
      };
      const scores = await askTwice(ask, (reason) => needs.onUnusable(alias.model, reason));
      return { scores, scoreType: 'judged' };
    },
  };
};
