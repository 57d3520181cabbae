import type { Clock } from '../../core/clock.ts';
import { joinPublications, type Publication, type Publisher } from '../events/publisher.ts';
import { partUpdatedEvent, statusPublication } from '../events/records.ts';
import type { EventDraft } from '../protocol/events.ts';
import { timeDigitsAt } from '../protocol/ids.ts';
import type { AssistantMessage, Part, ToolState } from '../protocol/types.ts';
import type { Leases } from '../store/cluster.ts';
import type { MessageWithParts, Store } from '../store/store.ts';
import { ABORTED_ERROR } from './run-queue.ts';

const CALL_NOT_MADE = 'The server was stopped before this call was made, so it was not made';
const CALL_OUTCOME_UNKNOWN =
  'The server was stopped while this call was under way; whether it was carried out is not known';
/** Events are read in pages: some of them hold long texts. */
const EVENTS_AT_ONCE = { limit: 100, limitBytes: 1024 * 1024 };
const TIME_DIGITS = [4, 16] as const;

/** A call gets the status `running` before it is made. Until then it waits, for its arguments or for a person. */
const endCall = (state: ToolState, now: number): ToolState | undefined => {
  const { status, input } = state;
  if (status === 'pending') return { status: 'error', input, error: CALL_NOT_MADE, time: { start: now, end: now } };
  if (status !== 'running') return undefined;
  return { status: 'error', input, error: CALL_OUTCOME_UNKNOWN, time: { start: state.time.start, end: now } };
};

/** A part that was incomplete when the process ended, as it is stored from now on; undefined for a complete one. */
const endPart = (part: Part, now: number): Part | undefined => {
  if (part.type === 'tool') {
    const state = endCall(part.state, now);
    return state === undefined ? undefined : { ...part, state };
  }
  if ((part.type === 'text' || part.type === 'reasoning') && part.time !== undefined && part.time.end === undefined) {
    return { ...part, time: { start: part.time.start, end: now } };
  }
  return undefined;
};

type UnfinishedAnswer = { readonly info: AssistantMessage; readonly parts: readonly Part[] };
const isAssistantMessage = (message: MessageWithParts): message is UnfinishedAnswer =>
  message.info.role === 'assistant';

/** Ends an answer as an aborted run ends it. */
const answerClosed = ({ info, parts }: UnfinishedAnswer, now: number): Publication => {
  const { sessionID } = info;
  const ended = parts.map((part) => endPart(part, now)).filter((part) => part !== undefined);
  const message: AssistantMessage = {
    ...info,
    error: ABORTED_ERROR,
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
/** Sends that the turn failed, and that the session is idle. */
const turnFailed = ({ info: { sessionID } }: UnfinishedAnswer): Publication => {
  const failure: Publication = { drafts: [{ type: 'session.error', properties: { sessionID, error: ABORTED_ERROR } }] };
  return joinPublications(failure, statusPublication(sessionID, { type: 'idle' }));
};

/** Ids of a session's permission requests that were sent after a message was begun, and whose end was not. */
const readOpenPermissions = async (
  store: Pick<Store, 'events'>,
  { info }: UnfinishedAnswer,
): Promise<readonly string[]> => {
  const open = new Set<string>();
  const directory = info.path.cwd;
  // The time in a message's id may come from a client's clock that is ahead. That in an event's id never does.
  const [earliest = ''] = [info.id.slice(...TIME_DIGITS), timeDigitsAt(info.time.created)].sort();
  let afterID = `evt_${earliest}`;
  for (;;) {
    const events = await store.events({ afterID, directory, ...EVENTS_AT_ONCE });
    for (const { event } of events) {
      afterID = event.id;
      if (event.type === 'permission.asked' && event.properties.sessionID === info.sessionID)
        open.add(event.properties.id);
      if (event.type === 'permission.replied') open.delete(event.properties.requestID);
    }
    if (events.length === 0) return [...open];
  }
};
const permissionsRejected = (sessionID: string, requestIDs: readonly string[]): Publication => ({
  drafts: requestIDs.map(
    (requestID): EventDraft => ({
      type: 'permission.replied',
      properties: { sessionID, requestID, reply: 'reject' },
    }),
  ),
});

/** What `createRecovery` works with. */
type RecoveryNeeds = {
  readonly store: Pick<Store, 'unfinished' | 'events'>;
  readonly publisher: Publisher;
  readonly clock: Clock;
  readonly leases: Pick<Leases, 'acquire' | 'withoutOwner'>;
};

/** Ends answers that a server left unfinished when it ended. Each method returns the number of answers. */
type Recovery = {
  /** Those of one session. The caller holds its lease, `leaseID`, where there are other servers. */
  readonly session: (sessionID: string, leaseID: string | undefined) => Promise<number>;
  /** Those of all sessions on which no server works. */
  readonly all: () => Promise<number>;
};

/**
 * Recovery of unfinished answers. Without it clients would show a session as busy, and wait for an answer that never comes.
 */
export const createRecovery = ({ store, publisher, clock, leases }: RecoveryNeeds): Recovery => {
  const endAll = async (answers: readonly UnfinishedAnswer[], leaseID: string | undefined): Promise<number> => {
    const [first] = answers;
    if (first === undefined) return 0;
    const now = clock.now();
    const rejections = permissionsRejected(first.info.sessionID, await readOpenPermissions(store, first));
    const publication = joinPublications(
      rejections,
      ...answers.map((one) => answerClosed(one, now)),
      turnFailed(first),
    );
    await publisher.publish(first.info.path.cwd, { ...publication, leaseID });
    return answers.length;
  };
  const readUnfinished = async (sessionID: string): Promise<readonly UnfinishedAnswer[]> =>
    (await store.unfinished()).filter(isAssistantMessage).filter(({ info }) => info.sessionID === sessionID);
  const session: Recovery['session'] = async (sessionID, leaseID) => endAll(await readUnfinished(sessionID), leaseID);
  return {
    session,
    async all() {
      const found = (await store.unfinished()).map(({ info }) => info.sessionID);
      let count = 0;
      for (const sessionID of await leases.withoutOwner([...new Set(found)])) {
        const lease = await leases.acquire(sessionID, () => {});
        try {
          // Another server may have recovered it meanwhile: then there is nothing left to end.
          count += await session(sessionID, lease.id);
        } finally {
          await lease.release();
        }
      }
      return count;
    },
  };
};
