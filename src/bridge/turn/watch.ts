import { pause } from '../../core/async.ts';
import type { Clock } from '../../core/clock.ts';
import { Fault } from '../../core/fault.ts';
import type { Log } from '../../core/log.ts';
import { withRetries } from '../agent/errors.ts';
import { type PermissionRecord, sessionOf } from '../agent/schema.ts';
import type { AgentClient, AgentEventStream, AgentEventUpdate, PermissionAnswer } from '../agent/types.ts';
import type { TurnLogWriter } from './log.ts';
import { createTurnPermissions, type SessionFamilies } from './permission-requests.ts';

import { createTurnReducer, type TurnReducer } from './reducer.ts';

export type TurnWatchNeeds = {
  readonly agent: AgentClient;
  readonly feed: AgentEventStream;
  readonly sessionFamilies: SessionFamilies;
  readonly clock: Clock;
  readonly log: Log;
  /** What the agent is told of its questions where nobody may answer them; nothing: they are put to the user. */
  readonly autoRejection: string | undefined;
};

export type Watched = {
  readonly writer: TurnLogWriter;
  readonly earlier: ReadonlySet<string>;
  readonly sessionID: () => string;
  /** Aborts when the turn is over. */
  readonly signal: AbortSignal;
};

/** Keeps a turn's log in step with what the agent tells, from now on. */
export type TurnWatch = {
  readonly transcript: Omit<TurnReducer, 'applyEvent' | 'noteGap'>;
  /** Reads all messages of the session, patiently. */
  readonly look: () => Promise<void>;
  /** The same, and the questions, after something was lost. Never rejects. */
  readonly lose: () => Promise<void>;
  /** Whether events were lost at any time, so that they alone are not believed at the end. */
  readonly hasLost: () => boolean;
  readonly answer: (askID: string, answer: PermissionAnswer) => Promise<void>;
  /** Waits for something that events bring about, for so long at most. */
  readonly until: (isSo: () => boolean, limitMs: number) => Promise<void>;
  /** Logs a failure that nobody is told of, while that is still of interest. */
  readonly unheard: (what: string) => (error: unknown) => void;
  readonly stop: () => void;
};

export const watchTurn = (needs: TurnWatchNeeds, { writer, earlier, sessionID, signal }: Watched): TurnWatch => {
  const { agent, clock, log } = needs;
  const transcript = createTurnReducer(writer, earlier);
  const again = <T>(call: () => Promise<T>): Promise<T> => withRetries(call, { clock, signal });
  const asks = createTurnPermissions({ ...needs, writer, sessionID, patiently: again, signal });
  let gaps = 0;
  let sure: Promise<unknown> = Promise.resolve();
  let news = Promise.withResolvers<void>();

  const ring = (): void => {
    news.resolve();
    news = Promise.withResolvers();
  };
  const unheard = (what: string) => (error: unknown) => {
    if (signal.aborted) return;
    log('warn', what, { reason: error instanceof Fault ? error.detail.kind : 'bug' });
  };
  const look = (): Promise<void> =>
    again(async () => {
      // A list from before the last loss would hide what was lost.
      for (let known = -1; known !== gaps; ) {
        known = gaps;
        const records = await agent.messages(sessionID(), signal);
        if (known === gaps) transcript.applySnapshot(records);
      }
      ring();
    });
  /** A question ends an answer, so what was said before it has to be known. */
  const takeAsk = (ask: PermissionRecord): Promise<void> =>
    sure.then(() => asks.take(ask)).catch(unheard('ask-not-taken'));
  const lookForAsks = async (): Promise<void> => {
    await Promise.all((await again(() => agent.permissionRequests(signal))).map(takeAsk));
  };
  const lose = async (): Promise<void> => {
    gaps += 1;
    transcript.noteGap();
    sure = look().catch(unheard('agent-not-read'));
    await Promise.all([sure, lookForAsks().catch(unheard('asks-not-read'))]);
  };
  const hear = (told: AgentEventUpdate): void => {
    if (told.kind === 'gap') {
      void lose();
      return;
    }
    const { event } = told;
    if (event.type === 'permission.asked') void takeAsk(event.properties);
    else if (event.type === 'permission.replied') asks.drop(event.properties.requestID);
    else if (event.type === 'question.asked')
      asks.rejectQuestion(event.properties).catch(unheard('question-not-rejected'));
    else if (sessionOf(event) === sessionID()) {
      transcript.applyEvent(event);
      ring();
    }
  };
  const stopListening = needs.feed.subscribe(hear);
  return {
    transcript,
    look,
    lose,
    hasLost: () => gaps > 0,
    answer: asks.answer,
    async until(isSo, limitMs) {
      const endsAt = clock.now() + limitMs;
      while (!isSo() && clock.now() < endsAt) {
        const waiting = new AbortController();
        const late = pause(clock, endsAt - clock.now(), waiting.signal);
        await Promise.race([news.promise, late]).finally(() => waiting.abort());
      }
    },
    unheard,
    stop() {
      stopListening();
      ring();
    },
  };
};
