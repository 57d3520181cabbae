import {
  type AssistantMessage,
  NO_TOKENS,
  type Session,
  type UserMessage,
} from '../../../../src/agent/protocol/types.ts';
import { createRunQueue } from '../../../../src/agent/session/run-queue.ts';
import { createSingleServer } from '../../../../src/agent/store/cluster.ts';

/** Lets what is ready run. */
export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export const sessionOf = (id: string): Session => ({
  id,
  slug: 's',
  projectID: 'global',
  directory: '/',
  title: 't',
  version: '1',
  cost: 0,
  tokens: NO_TOKENS,
  time: { created: 1, updated: 1 },
});

export const userOf = (sessionID: string, id: string): UserMessage => ({
  id,
  sessionID,
  role: 'user',
  time: { created: 1 },
  agent: 'build',
  model: { providerID: 'p', modelID: 'm' },
});

/** What a queue needs of the others: here, that there are none. */
export const alone = () => ({
  leases: createSingleServer({ recordDecision: async () => {} }).leases,
  recovery: { beforeRun: async () => undefined, afterFailure: async () => {} },
});

/** The message that a run ends with. */
export const answerTo = ({ id, sessionID }: UserMessage, isAborted: boolean): AssistantMessage => ({
  id: `answer to ${id}`,
  sessionID,
  role: 'assistant',
  parentID: id,
  mode: 'build',
  agent: 'build',
  modelID: 'm',
  providerID: 'p',
  path: { cwd: '/', root: '/' },
  time: { created: 1 },
  cost: 0,
  tokens: NO_TOKENS,
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
