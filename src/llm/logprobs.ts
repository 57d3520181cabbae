import * as v from 'valibot';

/** A token of an answer with its log-probability, and the likeliest tokens in its place, itself among them. */
export type TokenLogprob = {
  readonly token: string;
  readonly logprob: number;
  readonly top: readonly { readonly token: string; readonly logprob: number }[];
};

const Logprob = v.object({ token: v.string(), logprob: v.pipe(v.number(), v.maxValue(0.001)) });

/** The log-probabilities of an answer's tokens, as Ollama and OpenAI write them. Anything else counts as not sent. */
export const Logprobs = v.fallback(
  v.nullish(
    v.array(
      v.pipe(
        v.object({ ...Logprob.entries, top_logprobs: v.nullish(v.array(Logprob), []) }),
        v.transform(({ token, logprob, top_logprobs: top }): TokenLogprob => ({ token, logprob, top })),
      ),
    ),
  ),
  undefined,
);

/** What a reply says of its log-probabilities: nothing where the server sent none. */
export const logprobsOf = (
  sent: readonly TokenLogprob[] | null | undefined,
): { readonly logprobs?: readonly TokenLogprob[] } => (sent == null || sent.length === 0 ? {} : { logprobs: sent });
