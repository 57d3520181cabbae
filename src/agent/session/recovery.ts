import { joinPublications, type Publication } from '../events/publisher.ts';
import {
  answerStatePublication,
  createFailedAnswer,
  messagePublication,
  partUpdatedEvent,
  sessionErrorPublication,
  statusPublication,
} from '../events/records.ts';
import type { EventDraft } from '../protocol/events.ts';
import { decisionAbout, type PermissionRequest } from '../protocol/permissions.ts';
import type { AssistantMessage, MessageError, Part, Session, UserMessage } from '../protocol/types.ts';
import type { AgentRuntime } from '../runtime.ts';
import { isStoreFailure } from '../store/errors.ts';
import type { MessageWithParts, OwedAnswer, Store } from '../store/store.ts';
import { endPart } from './awaited-calls.ts';
import { readMessageShapes } from './message-shapes.ts';
import { RunAborted, type RunRecovery, SERVER_STOPPED_ERROR } from './run-queue.ts';

/**
 * A prompt that has waited longer is ended instead of run: its sender does not expect it any more, and in a copy of the store
 * that was restored it may have been answered since the copy was made.
 */
const WAITING_LIMIT_MS = 3_600_000;
const WAITED_TOO_LONG: MessageError = {
  name: 'UnknownError',
  data: {
    message:
      'The server was stopped before it began to answer, and started again more than an hour later. Nothing was done. Send the prompt again',
  },
};

type UnfinishedAnswer = { readonly info: AssistantMessage; readonly parts: readonly Part[] };
const isAnswer = (message: MessageWithParts): message is UnfinishedAnswer => message.info.role === 'assistant';

/** Ends an answer as an aborted run ends it. */
const answerClosed = ({ info, parts }: UnfinishedAnswer, now: number): Publication => {
  const { sessionID } = info;
  const ended = parts.map((part) => endPart(part, now)).filter((part) => part !== undefined);
  const message: AssistantMessage = {
    ...info,
    error: SERVER_STOPPED_ERROR,
    finish: 'error',
    time: { ...info.time, completed: now },
  };
  return {
    changes: [...ended.map((part) => ({ kind: 'part' as const, part })), { kind: 'message', message }],
    drafts: [
      ...ended.map((part) => partUpdatedEvent(part, now)),
      { type: 'message.updated', properties: { sessionID, info: message } },
    ],
  };
};
/** A session's permission requests that were sent, and whose end was not. */
const readOpenPermissions = async (
  store: Pick<Store, 'permissionEvents'>,
  sessionID: string,
): Promise<readonly PermissionRequest[]> => {
  const open = new Map<string, PermissionRequest>();
  for (const { event } of await store.permissionEvents(sessionID)) {
    if (event.type === 'permission.asked') open.set(event.properties.id, event.properties);
    if (event.type === 'permission.replied') open.delete(event.properties.requestID);
  }
  return [...open.values()];
};
const permissionsRejected = (requests: readonly PermissionRequest[]): Publication => ({
  drafts: requests.map(
    ({ sessionID, id: requestID }): EventDraft => ({
      type: 'permission.replied',
      properties: { sessionID, requestID, reply: 'reject' },
    }),
  ),
});

/** What recovery works with. */
type RecoveryNeeds = AgentRuntime & {
  /** Whether this server works on a session. */
  readonly isBusyHere: (sessionID: string) => boolean;
};

/** A stored prompt whose answer was never begun: nothing of it has had an effect. */
type WaitingPrompt = { readonly session: Session; readonly user: UserMessage };

/** Ends answers that were begun and that no server will finish, and finds the prompts that wait for one. */
export type Recovery = RunRecovery & {
  /** In all sessions on which no server works. `ended` is a number of answers; `sessionIDs` are those that had any of both. */
  readonly all: () => Promise<{
    readonly ended: number;
    readonly waiting: readonly WaitingPrompt[];
    readonly sessionIDs: readonly string[];
  }>;
};

const isTooOld = ({ time }: UserMessage, now: number): boolean =>
  now - (time.resumed ?? time.created) > WAITING_LIMIT_MS;

/** Answers that are only an error, for prompts whose run has ended between two messages, or before the first one. */
const answersFor = async (
  { store, ids, clock }: AgentRuntime,
  session: Session,
  owed: readonly OwedAnswer[],
): Promise<readonly AssistantMessage[]> => {
  const answers: AssistantMessage[] = [];
  let [last] = (await store.messageOutlines(session.id, { limit: 1 })).map(({ id }) => id);
  for (const { promptID, isBegun } of owed) {
    const user = (await store.message(session.id, promptID))?.info;
    if (user?.role !== 'user') continue;
    last = ids('message', last);
    const now = clock.now();
    const error = isBegun || !isTooOld(user, now) ? SERVER_STOPPED_ERROR : WAITED_TOO_LONG;
    answers.push(createFailedAnswer({ session, user }, { id: last, now, error }));
  }
  return answers;
};

/** What to end in a session: owed answers, under which lease, and what is published with that. */
type Ending = {
  readonly isToEnd: (owed: OwedAnswer) => boolean;
  readonly leaseID: string | undefined;
  readonly end?: Publication;
};

/** Ends what is unfinished in a session, and the owed answers that `isToEnd` names. Returns the number of answers. */
const endAll = async (
  needs: AgentRuntime,
  session: Session,
  { isToEnd, leaseID, end = {} }: Ending,
): Promise<number> => {
  const { store, publisher, clock } = needs;
  const answers = (await store.unfinished()).filter(isAnswer).filter(({ info }) => info.sessionID === session.id);
  const owed = (await store.owed(session.id)).filter(isToEnd);
  const missing = owed.filter(({ promptID }) => !answers.some(({ info }) => info.parentID === promptID));
  const added = await answersFor(needs, session, missing);
  const [first] = answers;
  if (first === undefined && owed.length === 0) return 0;
  const now = clock.now();
  const open = first === undefined ? [] : await readOpenPermissions(store, session.id);
  for (const request of open) await store.recordDecision(decisionAbout(request, { reply: 'cancelled' }, now));
  const publication = joinPublications(
    permissionsRejected(open),
    ...answers.map((one) => answerClosed(one, now)),
    ...added.map(messagePublication),
    ...owed.map(({ promptID }) => answerStatePublication({ sessionID: session.id, id: promptID }, 'ended')),
    sessionErrorPublication(session.id, SERVER_STOPPED_ERROR),
    end,
  );
  await publisher.publish(session.directory, { ...publication, leaseID });
  return answers.length + added.length;
};

const endAbandoned = async (needs: RecoveryNeeds, sessionID: string, tooOld: ReadonlySet<string>): Promise<number> => {
  // A prompt came meanwhile: its run ends what was left before it begins.
  if (needs.isBusyHere(sessionID)) return 0;
  const lease = await needs.peers.leases.acquire(sessionID, () => {});
  try {
    const session = await needs.store.session(sessionID);
    if (session === undefined) return 0;
    // Another server may have recovered it meanwhile: then there is nothing left to end.
    const end = statusPublication(sessionID, { type: 'idle' });
    const isToEnd = ({ isBegun, promptID }: OwedAnswer): boolean => isBegun || tooOld.has(promptID);
    return await endAll(needs, session, { isToEnd, leaseID: lease.id, end });
  } finally {
    await lease.release();
  }
};

const readPrompt = async (
  { store }: AgentRuntime,
  { sessionID, promptID }: OwedAnswer,
): Promise<readonly WaitingPrompt[]> => {
  const session = await store.session(sessionID);
  const user = (await store.message(sessionID, promptID))?.info;
  return session === undefined || user?.role !== 'user' ? [] : [{ session, user }];
};

/** The answer that is stored for a prompt. Rejects where the prompt, or its answer, was removed. */
const readAnswer = async ({ store }: AgentRuntime, { id, sessionID }: UserMessage): Promise<AssistantMessage> => {
  const messages = (await readMessageShapes(store, sessionID)).map(({ info }) => info);
  const answer = messages.findLast((info) => info.role === 'assistant' && info.parentID === id);
  if (answer?.role !== 'assistant') throw new RunAborted();
  return answer;
};

/** Ends what is left in all sessions on which no server works, and finds the prompts that wait there. */
const recoverAll = async (needs: RecoveryNeeds): ReturnType<Recovery['all']> => {
  const { store, peers, isBusyHere } = needs;
  const unfinished = (await store.unfinished()).map(({ info }) => info.sessionID);
  const owed = await store.owed();
  const found = [...unfinished, ...owed.map(({ sessionID }) => sessionID)].filter((id) => !isBusyHere(id));
  const abandoned = new Set(await peers.leases.withoutOwner([...new Set(found)]));
  const unbegun = owed.filter(({ isBegun, sessionID }) => !isBegun && abandoned.has(sessionID));
  const prompts = (await Promise.all(unbegun.map((one) => readPrompt(needs, one)))).flat();
  const now = needs.clock.now();
  const tooOld = new Set(prompts.flatMap(({ user }) => (isTooOld(user, now) ? [user.id] : [])));
  const toEnd = owed.filter(({ isBegun, promptID }) => isBegun || tooOld.has(promptID));
  let ended = 0;
  for (const id of new Set([...unfinished, ...toEnd.map(({ sessionID }) => sessionID)]))
    if (abandoned.has(id)) ended += await endAbandoned(needs, id, tooOld);
  return { ended, waiting: prompts.filter(({ user }) => !tooOld.has(user.id)), sessionIDs: [...abandoned] };
};

/**
 * Recovery of answers after a server has ended, or could not write. Without it clients would show a session as busy, and wait
 * for an answer that never comes.
 */
export const createRecovery = (needs: RecoveryNeeds): Recovery => ({
  async beforeRun(user, leaseID) {
    const owed = await needs.store.owed(user.sessionID);
    const own = owed.find(({ promptID }) => promptID === user.id);
    if (own === undefined) return readAnswer(needs, user);
    // Also this very prompt, if another server has begun it since this one has found it: it is not run a second time.
    const session = owed.some(({ isBegun }) => isBegun) ? await needs.store.session(user.sessionID) : undefined;
    if (session !== undefined) await endAll(needs, session, { isToEnd: ({ isBegun }) => isBegun, leaseID });
    return own.isBegun ? readAnswer(needs, user) : undefined;
  },
  async afterFailure(user, error, leaseID) {
    const session = await needs.store.session(user.sessionID);
    if (session === undefined) return;
    const isToEnd = ({ isBegun, promptID }: OwedAnswer): boolean =>
      isBegun || (promptID === user.id && !isStoreFailure(error));
    await endAll(needs, session, { isToEnd, leaseID });
  },
  all: () => recoverAll(needs),
});
