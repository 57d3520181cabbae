import { pause } from '../../core/async.ts';
import type { Clock } from '../../core/clock.ts';
import { Fault } from '../../core/fault.ts';
import type { Log } from '../../core/log.ts';
import { withRetries } from '../agent/errors.ts';
import { promptOfToken, promptOfWords } from '../agent/prompt-token.ts';
import { type PermissionRecord, sessionOf } from '../agent/schema.ts';
import type { AgentClient, AgentEventStream, AgentEventUpdate, AgentPermissionReply, Prompt } from '../agent/types.ts';
import {
  createTurnPermissions,
  type SessionFamilies,
  type SharedPermissionRequests,
} from './approvals/permission-requests.ts';
import type { TurnLogWriter } from './log.ts';
import { createTurnReducer, type TurnReducer } from './reducer.ts';

export type TurnWatchNeeds = {
  readonly agent: AgentClient;
  readonly feed: AgentEventStream;
  readonly sessionFamilies: SessionFamilies;
  readonly sharedRequests: Pick<SharedPermissionRequests, 'readAfterLoss'>;
  readonly clock: Clock;
  /** 0 to 1; shortens the wait before a call is repeated. */
  readonly chance: () => number;
  readonly log: Log;
  /** The message with which all permission requests are rejected. Undefined: the user is asked. */
  readonly autoRejection: string | undefined;
};

type WatchedTurn = {
  readonly writer: TurnLogWriter;
  /** Until its claim is stored, if it has one, the events of the session may be of another bridge's turn, and wait. */
  readonly prompt: Prompt | undefined;
  /** Ids of the user messages that were in the session before the turn. */
  readonly knownMessageIDs: ReadonlySet<string>;
  readonly sessionID: () => string;
  /** Aborts when the turn is over. */
  readonly signal: AbortSignal;
};

/** Applies the agent's events to a turn's log, from now on. */
type TurnWatch = {
  readonly reducer: Omit<TurnReducer, 'applyEvent' | 'noteGap'>;
  /** Reads all messages of the session, with retries. */
  readonly readMessages: () => Promise<void>;
  /** Reads the messages and the permission requests after events were lost. Never rejects. */
  readonly recover: () => Promise<void>;
  /** Whether events were lost at any time, so that they alone do not prove that a message is complete. */
  readonly hasLostEvents: () => boolean;
  readonly answerPermission: (requestID: string, answer: AgentPermissionReply) => Promise<void>;
  /** Waits for a condition that events bring about, up to a limit. */
  readonly waitUntil: (isTrue: () => boolean, limitMs: number) => Promise<void>;
  /** Resolves at the next event that says that the session is idle. */
  readonly nextIdle: () => Promise<void>;
  /** Returns a function that logs a failure which no caller gets, unless the turn is over. */
  readonly logFailure: (event: string) => (error: unknown) => void;
  /** Whether the agent has the prompt: one that it has not got never arrives after that. What has no claim is taken to be there. */
  readonly isAccepted: () => Promise<boolean>;
  /** Asks that when the agent has said nothing of the prompt's claim for long. Rejects once it was found not to have the prompt. */
  readonly untilKeptOut: () => Promise<never>;
  /** The turn has got another session, of its own. */
  readonly followSession: () => void;
  readonly stop: () => void;
};

/** The head of an answer comes at once. After this long without it the agent is asked whether it has the prompt. */
const HEAD_LIMIT_MS = 30_000;

export const watchTurn = (
  needs: TurnWatchNeeds,
  { writer, prompt, knownMessageIDs, sessionID, signal }: WatchedTurn,
): TurnWatch => {
  const { claim, token } = prompt ?? {};
  const { agent, feed, sessionFamilies, sharedRequests, clock, chance, log, autoRejection } = needs;
  const reducer = createTurnReducer(
    writer,
    knownMessageIDs,
    token === undefined ? undefined : { token, isKept: claim !== undefined },
  );
  const retry = <T>(call: () => Promise<T>): Promise<T> => withRetries(call, { clock, chance, signal });
  const permissions = createTurnPermissions({
    agent,
    clock,
    sessionFamilies,
    writer,
    sessionID,
    autoRejection,
    retry,
    signal,
  });
  let gaps = 0;
  let recovered: Promise<unknown> = Promise.resolve();
  /** Only while something waits for it: there are very many events. */
  let change: PromiseWithResolvers<void> | undefined;
  let idle = Promise.withResolvers<void>();

  const notifyChange = (): void => {
    change?.resolve();
    change = undefined;
  };
  const logFailure = (event: string) => (error: unknown) => {
    if (signal.aborted) return;
    log('warn', event, { reason: error instanceof Fault ? error.detail.kind : 'bug' });
  };
  const readMessages = (): Promise<void> =>
    retry(async () => {
      // A list from before the last gap would hide what was lost in it.
      for (let known = -1; known !== gaps; ) {
        known = gaps;
        const records = await agent.messages(sessionID(), signal);
        if (known === gaps) reducer.applySnapshot(records);
      }
      notifyChange();
    });
  /** A permission request ends an answer, so everything before it has to be in the log first. */
  const addPermission = (request: PermissionRecord): Promise<void> =>
    recovered.then(() => permissions.add(request)).catch(logFailure('ask-not-taken'));
  const readPermissions = async (read: AgentClient['permissionRequests']): Promise<void> => {
    await Promise.all((await retry(() => read(signal))).map(addPermission));
  };
  const recoverBy = async (read: AgentClient['permissionRequests']): Promise<void> => {
    gaps += 1;
    reducer.noteGap();
    recovered = readMessages().catch(logFailure('agent-not-read'));
    await Promise.all([recovered, readPermissions(read).catch(logFailure('asks-not-read'))]);
  };
  let held: AgentEventUpdate[] | undefined = claim && [];
  const onUpdate = (update: AgentEventUpdate): void => {
    if (held !== undefined) {
      held.push(update);
      return;
    }
    if (update.kind === 'gap') {
      void recoverBy(sharedRequests.readAfterLoss);
      return;
    }
    const { event } = update;
    if (event.type === 'permission.asked') void addPermission(event.properties);
    else if (event.type === 'permission.replied') permissions.remove(event.properties.requestID);
    else if (event.type === 'question.asked')
      permissions.rejectQuestion(event.properties).catch(logFailure('question-not-rejected'));
    else if (sessionOf(event) === sessionID()) {
      reducer.applyEvent(event);
      notifyChange();
      if (event.type !== 'session.idle') return;
      idle.resolve();
      idle = Promise.withResolvers();
    }
  };
  const release = (): void => {
    const updates = held ?? [];
    held = undefined;
    for (const update of updates) onUpdate(update);
  };
  /** By its token; at a server that has not kept that, by its words. */
  const findPrompt = async (): Promise<boolean> => {
    const records = await retry(() => agent.messages(sessionID(), signal));
    const ownID = promptOfToken(records, token) ?? promptOfWords(records, prompt?.parts ?? [], knownMessageIDs);
    if (ownID !== undefined) reducer.setPrompt(ownID);
    return ownID !== undefined;
  };
  void claim?.outcome.then(async (outcome) => {
    if (outcome === 'ignored') await findPrompt().catch(logFailure('agent-not-read'));
    if (outcome === 'stored' || outcome === 'ignored') release();
  });
  const keptOut = Promise.withResolvers<never>();
  keptOut.promise.catch(() => {});
  const isAccepted = async (): Promise<boolean> => {
    if (claim === undefined || held === undefined) return true;
    await retry(() => claim.keepOut(signal));
    const isStored = await findPrompt();
    if (isStored) claim.settle('stored');
    else {
      const message = 'The agent server did not take the prompt in time';
      keptOut.reject(new Fault({ kind: 'agent-failed', status: 504, code: 'agent_lost', message, isRetryable: false }));
    }
    return isStored;
  };
  const askLater = async (): Promise<void> => {
    while (held !== undefined) {
      await pause(clock, HEAD_LIMIT_MS, signal);
      // An agent that cannot be asked is asked again later.
      if (!(await isAccepted().catch(() => true))) return;
    }
  };
  let unsubscribe = feed.subscribe(onUpdate, sessionID());
  return {
    reducer,
    readMessages,
    recover: () => recoverBy(agent.permissionRequests),
    hasLostEvents: () => gaps > 0,
    answerPermission: permissions.answer,
    async waitUntil(isTrue, limitMs) {
      const endsAt = clock.now() + limitMs;
      while (!isTrue() && clock.now() < endsAt) {
        const waiting = new AbortController();
        const timeout = pause(clock, endsAt - clock.now(), waiting.signal);
        change ??= Promise.withResolvers();
        await Promise.race([change.promise, timeout]).finally(() => waiting.abort());
      }
    },
    nextIdle: () => idle.promise,
    isAccepted,
    untilKeptOut() {
      askLater().catch(() => {});
      return keptOut.promise;
    },
    followSession() {
      unsubscribe();
      unsubscribe = feed.subscribe(onUpdate, sessionID());
      claim?.settle('unknown');
      release();
    },
    logFailure,
    stop() {
      unsubscribe();
      notifyChange();
    },
  };
};
