import type { AssistantMessage, UserMessage } from '../../../../src/agent/protocol/types.ts';
import { createRunQueue } from '../../../../src/agent/session/run-queue.ts';
import { createSingleServer } from '../../../../src/agent/store/cluster.ts';
import { answer, userMessage } from '../../store/samples.ts';

/** Lets what is ready run. */
export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export const userOf = (sessionID: string, id: string): UserMessage => userMessage(id, sessionID);

/** What a queue needs of the others: here, that there are none. */
export const alone = () => ({
  leases: createSingleServer({ recordDecision: async () => {} }).leases,
  recovery: { beforeRun: async () => undefined, afterFailure: async () => {} },
});

/** The message that a run ends with. */
export const answerTo = ({ id, sessionID }: UserMessage, isAborted: boolean): AssistantMessage =>
  answer(`answer to ${id}`, sessionID, {
    parentID: id,
    ...(isAborted ? { error: { name: 'MessageAbortedError', data: { message: 'Aborted' } } } : {}),
  });

/** Runs whose answers the test gives when it wants to. */
export const world = () => {
  const open: { readonly user: UserMessage; readonly finish: () => void; readonly fail: (error: Error) => void }[] = [];
  const reported: string[] = [];
  const bugs: unknown[] = [];
  const runs = createRunQueue({
    ...alone(),
    answer: ({ user }, signal) =>
      new Promise((resolve, reject) => {
        const settle = () => {
          open.splice(
            open.findIndex((one) => one.user === user),
            1,
          );
          resolve(answerTo(user, signal.aborted));
        };
        open.push({ user, finish: settle, fail: reject });
        // Whatever is aborted has something to end before it is over.
        const end = () => void turn().then(settle);
        if (signal.aborted) end();
        else signal.addEventListener('abort', end);
      }),
    publishStatus: async ({ id }, { type }) => void reported.push(`${id} ${type}`),
    onBug: (error) => void bugs.push(error),
  });
  return { runs, open, reported, bugs };
};
