import { isNotFound } from '../agent/errors.ts';
import type { Agent, PermissionAnswer } from '../agent/types.ts';
import type { Conversation } from '../conversation/types.ts';
import type { Ask } from '../output.ts';
import { type Asked, type Verdict, wordsOf } from '../request.ts';
import { idOf, isNearlyVerdict, verdictIn } from './approval-parser.ts';
import { createTurnLog, type TurnLog } from './log.ts';
import { AT_THE_START, type Bookmark, type Outcome, textsIn } from './outcome.ts';
import { startTurn, type Turn, type TurnNeeds } from './turn.ts';

/** An answer that is ours and not the agent's. With questions it ends as the agent's own would: with them. */
export const inOwnWords = (text: string, asks: readonly Ask[] = []): TurnLog => {
  const writer = createTurnLog();
  writer.setText({ id: 'gatehouse', messageID: '', kind: 'text', text, isOver: true });
  for (const ask of asks) writer.addAsk(ask);
  if (asks.length === 0) writer.finish({ kind: 'answered', finish: 'stop' });
  return writer.log;
};

const NO_SUCH_QUESTION =
  'There is no open question with this id in this conversation: it was answered already, its time is over, or it belongs elsewhere. Nothing was approved.';

/** After a rejection that the agent has nothing to say to: an empty answer looks like a failure. */
export const REJECTED = 'Rejected. The call was not made, and the agent has stopped.';

/** For somebody who answered a question that is none, with what was said since. */
export const noSuchQuestion = (since: readonly string[] = []): string => [NO_SUCH_QUESTION, ...since].join('\n\n');

/** For somebody who answered, but not in the words that count. */
export const NOT_COUNTED = 'This was not counted as an answer, because it names no question by its id.';

/** What answers a request: a turn from a bookmark on, or words of our own. */
export type Going = {
  readonly turn: Turn | undefined;
  readonly log: TurnLog;
  readonly from: Bookmark;
  /** What is told when the agent says nothing. */
  readonly ifSilent?: string;
};

/** Turns whose agent waits for an answer of the user, by session. */
export type PausedTurns = {
  /** `from` is how an answer has ended before its turn has. */
  readonly keep: (turn: Turn, from: Bookmark & Partial<Pick<Outcome, 'last'>>) => void;
  /** What goes on in a session with this request, or nothing when it is a new prompt. An ignored question ends its turn. */
  readonly goOn: (conversation: Conversation, asked: Asked, signal: AbortSignal) => Promise<Going | undefined>;
};

const KEPT = 1000;
const KNOWN = 10_000;
const NAMES_AN_ASK = /^\s*(?:approve|reject)\s+per_\w+/i;

const saying = (text: string, asks: readonly Ask[] = []): Going => ({
  turn: undefined,
  log: inOwnWords(text, asks),
  from: AT_THE_START,
});

const answerFor = ({ isApproved, message }: Verdict): PermissionAnswer => {
  if (isApproved) return { reply: 'once' };
  return message === undefined ? { reply: 'reject' } : { reply: 'reject', message };
};

/** Takes all questions that a verdict names, or none if one of them is not there. Says whether any was still open. */
const answerAll = async ({ log, answer }: Turn, verdict: Verdict): Promise<boolean> => {
  const asks = log.asks();
  const named = new Set(verdict.ids.map((id) => idOf(id, asks)));
  if (named.has(undefined)) return false;
  let isAnswered = false;
  for (const id of named) {
    try {
      if (id !== undefined) await answer(id, answerFor(verdict));
      isAnswered = true;
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
  return isAnswered;
};

const withoutOldest = <Value>(entries: Map<string, Value>, most: number): string | undefined => {
  const [oldest] = entries.keys();
  if (entries.size <= most || oldest === undefined) return undefined;
  entries.delete(oldest);
  return oldest;
};

export const createPausedTurns = (agent: Agent, turnNeeds: TurnNeeds): PausedTurns => {
  const paused = new Map<string, { readonly turn: Turn; readonly from: Bookmark }>();
  /** Questions that an answer has ended with, also when they are not open any more. */
  const shown = new Map<string, readonly Ask[]>();
  /** Sessions of which it is known what they do: what a process before this one left may still wait. */
  const seen = new Map<string, true>();

  const keep: PausedTurns['keep'] = (turn, from) => {
    const sessionID = turn.sessionID();
    paused.delete(sessionID);
    paused.set(sessionID, { turn, from });
    // One that is forgotten here is found again at the agent.
    const forgotten = withoutOldest(paused, KEPT);
    if (forgotten !== undefined) seen.delete(forgotten);
    shown.delete(sessionID);
    shown.set(sessionID, from.last?.kind === 'end' ? from.last.end.asks : turn.log.asks());
    withoutOldest(shown, KNOWN);
  };
  const find = async ({ sessionID, earlier }: Conversation, signal: AbortSignal): Promise<void> => {
    // A session in which nothing was said before waits for nobody.
    if (seen.has(sessionID) || paused.has(sessionID) || earlier.size === 0) return;
    if ((await agent.busySessions(signal)).has(sessionID)) {
      const turn = startTurn(sessionID, { kind: 'found' }, turnNeeds);
      await turn.looked;
      keep(turn, { items: turn.log.cut(), usage: turn.log.usage() });
    }
    seen.set(sessionID, true);
    withoutOldest(seen, KNOWN);
  };
  return {
    keep,
    async goOn(conversation, asked, signal) {
      await find(conversation, signal);
      const { sessionID } = conversation;
      const words = wordsOf(asked.prompt);
      const found = paused.get(sessionID);
      const open = () => found?.turn.log.asks() ?? [];
      /** What a turn has said that nobody has heard, because its question's time was over. */
      const saidSince = (): readonly string[] => {
        if (found === undefined || found.turn.log.end() === undefined) return [];
        paused.delete(sessionID);
        return textsIn(found.turn.log, found.from);
      };
      const verdict = asked.verdict ?? verdictIn(words, open()) ?? verdictIn(words, shown.get(sessionID) ?? []);
      if (verdict !== undefined) {
        if (found === undefined || !(await answerAll(found.turn, verdict)))
          return saying(noSuchQuestion(saidSince()), open());
        paused.delete(sessionID);
        return { ...found, log: found.turn.log, ...(verdict.isApproved ? {} : { ifSilent: REJECTED }) };
      }
      if (open().length > 0 && isNearlyVerdict(words)) return saying(NOT_COUNTED, open());
      paused.delete(sessionID);
      // Whoever says something else does not approve, and must not wait until the question's time is over.
      await found?.turn.abort();
      return NAMES_AN_ASK.test(words) ? saying(noSuchQuestion()) : undefined;
    },
  };
};
