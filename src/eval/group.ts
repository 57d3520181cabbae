import type { Clock } from '../core/clock.ts';
import type { EvalAnswer } from './answer.ts';
import type { RequestVerdict, RequestVerdicts } from './ask.ts';

type GroupNeeds = {
  readonly request: RequestVerdicts;
  /** How many texts a request holds. */
  readonly size: number;
  readonly clock: Clock;
};

type Waiting = { readonly text: string; readonly answer: PromiseWithResolvers<EvalAnswer> };

/** The last texts of a file are fewer than a request holds: they are sent when no more have come for this time. */
const WAIT_MS = 50;

/** Requests verdicts for texts that are asked for one by one, so many in one request. All texts have one signal: the run's. */
export const createGroupedRequester = ({ request, size, clock }: GroupNeeds): RequestVerdict => {
  let waiting: Waiting[] = [];
  let cancelTimer = (): void => {};

  const send = (signal: AbortSignal): void => {
    const group = waiting;
    waiting = [];
    cancelTimer();
    request(
      group.map(({ text }) => text),
      signal,
    ).then(
      (answers) => {
        for (const [index, { answer }] of group.entries())
          answer.resolve(answers[index] ?? { kind: 'error', code: 'unusable_answer' });
      },
      (error: unknown) => {
        for (const { answer } of group) answer.reject(error);
      },
    );
  };

  return (text, signal) => {
    const answer = Promise.withResolvers<EvalAnswer>();
    waiting.push({ text, answer });
    cancelTimer();
    if (waiting.length === size) send(signal);
    else cancelTimer = clock.after(WAIT_MS, () => send(signal));
    return answer.promise;
  };
};
