import { untilAborted } from '../../core/async.ts';
import { isNotFound } from '../agent/errors.ts';
import type { PermissionRecord } from '../agent/schema.ts';
import type { AgentClient, AgentEventStream, PermissionAnswer } from '../agent/types.ts';
import { toApprovalRequest } from './approval-text.ts';
import type { TurnLogWriter } from './log.ts';

/** Which session an agent's work belongs to at the top: what is handed on runs in sessions below it. */
export type SessionFamilies = {
  /** The session itself, where nothing is above it. */
  readonly findRoot: (sessionID: string, signal: AbortSignal) => Promise<string>;
  readonly stop: () => void;
};

const KEPT = 10_000;
const DEEPEST = 10;

export const createSessionFamilies = (agent: AgentClient, feed: AgentEventStream): SessionFamilies => {
  const parents = new Map<string, string | undefined>();
  const keep = (id: string, parent: string | undefined): void => {
    parents.set(id, parent);
    const [oldest] = parents.keys();
    if (parents.size > KEPT && oldest !== undefined) parents.delete(oldest);
  };
  const stop = feed.subscribe((news) => {
    if (news.kind !== 'event' || news.event.type !== 'session.created') return;
    const { id, parentID } = news.event.properties.info;
    keep(id, parentID);
  });
  /** Looks that are under way: every turn wants to know whose an ask is, all at the same moment. */
  const looks = new Map<string, Promise<string | undefined>>();
  const look = (id: string): Promise<string | undefined> => {
    const known = looks.get(id);
    if (known !== undefined) return known;
    // For all who ask, so it ends with none of them: the agent's calls have a limit of their own.
    const asked = agent.session(id, new AbortController().signal).then(({ parentID }) => {
      keep(id, parentID);
      return parentID;
    });
    looks.set(id, asked);
    const forget = () => void looks.delete(id);
    asked.then(forget, forget);
    return asked;
  };
  const parentOf = (id: string, signal: AbortSignal): Promise<string | undefined> =>
    parents.has(id) ? Promise.resolve(parents.get(id)) : untilAborted(look(id), signal);
  return {
    async findRoot(sessionID, signal) {
      let root = sessionID;
      for (let depth = 0; depth < DEEPEST; depth += 1) {
        const parent = await parentOf(root, signal);
        if (parent === undefined) return root;
        root = parent;
      }
      return root;
    },
    stop,
  };
};

/** The agent's questions in a turn, also those in sessions that it has handed something on to. */
export type TurnPermissions = {
  /** Puts a question to the user, or answers it where nobody may be asked. Those of other turns change nothing. */
  readonly take: (ask: PermissionRecord) => Promise<void>;
  /** It was answered, whoever did that. */
  readonly drop: (askID: string) => void;
  readonly answer: (askID: string, answer: PermissionAnswer) => Promise<void>;
  /** Turns down a question that is no permission, for nobody here can answer it. */
  readonly rejectQuestion: (question: { readonly id: string; readonly sessionID: string }) => Promise<void>;
};

export type TurnAsksNeeds = {
  readonly agent: AgentClient;
  readonly sessionFamilies: SessionFamilies;
  readonly writer: TurnLogWriter;
  readonly sessionID: () => string;
  readonly autoRejection: string | undefined;
  readonly patiently: <T>(call: () => Promise<T>) => Promise<T>;
  /** Aborts when the turn is over. */
  readonly signal: AbortSignal;
};

export const createTurnPermissions = (needs: TurnAsksNeeds): TurnPermissions => {
  const { agent, sessionFamilies, writer, autoRejection, patiently, signal } = needs;
  /** Those that were dealt with. A list, or finding out whose a question is, may be slower than its answer. */
  const known = new Map<string, 'open' | 'gone'>();
  const never = new AbortController().signal;

  const isOfTurn = async (sessionID: string): Promise<boolean> => {
    if (sessionID === needs.sessionID()) return true;
    try {
      return (await patiently(() => sessionFamilies.findRoot(sessionID, signal))) === needs.sessionID();
    } catch (error) {
      // The agent keeps questions of sessions that were deleted.
      if (isNotFound(error)) return false;
      throw error;
    }
  };
  const drop = (askID: string): void => {
    known.set(askID, 'gone');
    writer.removeApprovalRequest(askID);
  };
  const answer = async (askID: string, given: PermissionAnswer): Promise<void> => {
    try {
      // Not cut off when the turn ends meanwhile: whoever answers is to know whether it counted.
      await agent.answerPermission(askID, given, never);
    } catch (error) {
      if (isNotFound(error)) drop(askID);
      throw error;
    }
    drop(askID);
  };
  return {
    drop,
    answer,
    async take(ask) {
      if (known.has(ask.id)) return;
      known.set(ask.id, 'open');
      if (!(await isOfTurn(ask.sessionID)) || known.get(ask.id) === 'gone') return;
      if (autoRejection === undefined) writer.addApprovalRequest(toApprovalRequest(ask));
      else await patiently(() => answer(ask.id, { reply: 'reject', message: autoRejection }));
    },
    async rejectQuestion({ id, sessionID }) {
      if (await isOfTurn(sessionID)) await patiently(() => agent.rejectQuestion(id, signal));
    },
  };
};
