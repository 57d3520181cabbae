import {
  type AnswerHandle,
  createSharedAnswers,
  type DisconnectPolicy,
  type SharedAnswerReader,
} from '../../../../../src/bridge/turn/sharing/shared-answers.ts';
import { createFakeClock } from '../../../../fake-clock.ts';

export const GRACE: DisconnectPolicy = { kind: 'grace', ms: 10_000 };

type Run = AnswerHandle & { readonly number: number };

type Asked = {
  readonly owner?: string;
  readonly key?: string;
  readonly digest?: string;
  readonly isRetry?: boolean;
  readonly signal?: AbortSignal;
};

export const AGAIN: Asked = { isRetry: true };

/** Answers are numbered in the order in which they were started. */
export const withAnswers = (policy: DisconnectPolicy = GRACE) => {
  const clock = createFakeClock();
  const answers = createSharedAnswers<Run>(clock, policy, () => false);
  let started = 0;
  /** The numbers of those whose request was answered before, and must not run again. */
  const known: number[] = [];
  const claim = ({ owner = 'me', key, digest = 'this', isRetry = false, signal }: Asked = {}) =>
    answers.claim(
      { owner, identity: { key, digest, isRetry }, signal: signal ?? new AbortController().signal },
      (handle, isKnown) => {
        started += 1;
        if (isKnown) known.push(started);
        return { ...handle, number: started };
      },
    );
  const claimOr = ({ owner = 'me', key, digest = 'this' }: Asked, error: Error) =>
    answers.claim({ owner, identity: { key, digest, isRetry: false }, signal: new AbortController().signal }, () => {
      throw error;
    });
  /** A request whose prompt the agent has got. */
  const begun = async (asked?: Asked): Promise<SharedAnswerReader<Run>> => {
    const reader = await claim(asked);
    reader.answer.begin();
    return reader;
  };
  /** A request that was answered, and whose client has read it. */
  const read = async (asked?: Asked): Promise<void> => {
    const reader = await begun(asked);
    reader.answer.end('answered');
    reader.finish();
  };
  return {
    ...answers,
    clock,
    known,
    claim,
    claimOr,
    begun,
    read,
    numberOf: async (asked?: Asked) => (await claim(asked)).answer.number,
  };
};
