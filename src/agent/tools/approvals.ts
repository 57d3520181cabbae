import { canonicalJson } from '../../core/json.ts';
import type { Publication } from '../events/publisher.ts';
import { actionForAll } from '../protocol/permission-rules.ts';
import {
  type AlwaysRefusal,
  alwaysRefusalOf,
  type DecidedOutcome,
  decisionAbout,
  isSameTool,
  type PermissionOutcome,
  type PermissionReply,
  type PermissionRequest,
  rulesOfAlways,
} from '../protocol/permissions.ts';
import type { AgentRuntime } from '../runtime.ts';
import type { PermissionBoard } from '../store/cluster.ts';
import { isStoreFailure } from '../store/errors.ts';
import { createStandingRules, type StandingRules } from './standing-rules.ts';

/** A permission request before it has an id. */
type NewPermissionRequest = Omit<PermissionRequest, 'id' | 'time'>;

/** The longest arguments that a person is asked about, as JSON, in characters. They are in each list of open requests. */
export const ASKED_LIMIT_CHARS = 1024 * 1024;

/** What the model reads of a call that a person would have to approve, and whose arguments are longer than that. */
export const TOO_LONG_TO_ASK = `A person has to approve this call, and its arguments are longer than ${ASKED_LIMIT_CHARS} characters. Make it with less at a time.`;

/** Whose reply it is. */
type By = { readonly by: string };

/** Open permission requests, and what people allowed with `always`. Nothing of it survives the process: a run does not either. */
export type Approvals = {
  /**
   * What stands for the arguments of a call: the SHA-256 of their canonical JSON, in hexadecimal. Undefined where they are longer
   * than `ASKED_LIMIT_CHARS`: no permission request may show those.
   */
  readonly hashArguments: (input: unknown) => string | undefined;
  /** Opens a request and waits for the answer. Rejects with the signal's reason when it aborts, and withdraws the request. */
  readonly request: (
    directory: string,
    details: NewPermissionRequest,
    signal: AbortSignal,
  ) => Promise<PermissionOutcome>;
  readonly open: () => Promise<readonly PermissionRequest[]>;
  /**
   * False when there is no such open request. `always` also answers the other requests of the session that it covers; where it is
   * refused, the reason is returned, and the request stays open. A rejection without a message cancels the session's other requests.
   * Every decision is kept before it has an effect.
   */
  readonly reply: (requestID: string, reply: PermissionReply & By) => Promise<boolean | AlwaysRefusal>;
  /** What people allowed with `always`. */
  readonly standing: StandingRules;
  /** How many of the open requests are of this server. */
  readonly count: () => number;
};

type ApprovalNeeds = Pick<AgentRuntime, 'ids' | 'clock' | 'digest'> & {
  readonly board: PermissionBoard;
  readonly timeoutMs: number;
  /** Patterns of the names of tools whose calls each need a decision of their own. */
  readonly onceOnly: readonly string[];
  readonly publish: (directory: string, fact: Publication) => Promise<unknown>;
};

export const createApprovals = (needs: ApprovalNeeds): Approvals => {
  const { board, ids, clock, timeoutMs, digest, publish } = needs;
  let count = 0;
  const answer = (request: PermissionRequest, outcome: DecidedOutcome): Promise<boolean> =>
    board.answer(decisionAbout(request, outcome, clock.now()));
  /** Gives one answer to every open request that it fits. */
  const answerAll = async (fits: (request: PermissionRequest) => boolean, outcome: DecidedOutcome): Promise<void> => {
    const others = (await board.open()).filter(fits);
    await Promise.all(others.map((other) => answer(other, outcome)));
  };
  const answerCovered = async (request: PermissionRequest, { by }: By): Promise<void> => {
    const { permission } = request;
    const allowed = rulesOfAlways(permission, request.always);
    const isCovered = (other: PermissionRequest): boolean =>
      isSameTool(other, request) &&
      alwaysRefusalOf(other) === undefined &&
      actionForAll(allowed, permission, other.patterns) === 'allow';
    await answerAll(isCovered, { reply: 'always', by, through: request.id });
  };
  /** Answers the requests that a reply to another one decides as well. */
  const answerOthers = async (request: PermissionRequest, reply: PermissionReply & By): Promise<void> => {
    const { id: through, sessionID } = request;
    if (reply.reply === 'always') await answerCovered(request, reply);
    if (reply.reply === 'reject' && reply.message === undefined)
      await answerAll((other) => other.sessionID === sessionID, { reply: 'cancelled', by: reply.by, through });
  };
  return {
    hashArguments(input) {
      const text = canonicalJson(input);
      return text.length > ASKED_LIMIT_CHARS ? undefined : digest(text);
    },
    async request(directory, details, signal) {
      signal.throwIfAborted();
      const asked = clock.now();
      const request: PermissionRequest = {
        ...details,
        id: ids('permission'),
        time: { asked, ends: asked + timeoutMs },
      };
      const { id: requestID, sessionID } = request;
      const answered = Promise.withResolvers<PermissionOutcome>();
      // Nothing awaits the promise yet while the request is being published.
      answered.promise.catch(() => {});
      let isAnswered = false;
      const onOutcome = (outcome: PermissionOutcome): void => {
        isAnswered = true;
        answered.resolve(outcome);
      };
      const expire = () => void answer(request, { reply: 'expired' }).catch(answered.reject);
      const cancelTimer = clock.after(timeoutMs, expire);
      const onAbort = () => answered.reject(signal.reason);
      signal.addEventListener('abort', onAbort, { once: true });
      const publishReply = (reply: 'once' | 'always' | 'reject') =>
        publish(directory, { drafts: [{ type: 'permission.replied', properties: { sessionID, requestID, reply } }] });
      count += 1;
      try {
        // Opened before it is published: an answer may come at once.
        await board.add(request, onOutcome);
        await publish(directory, { drafts: [{ type: 'permission.asked', properties: request }] });
        const outcome = await answered.promise;
        const { reply } = outcome;
        await publishReply(reply === 'once' || reply === 'always' ? reply : 'reject');
        return outcome;
      } catch (error) {
        if (!isAnswered) {
          // Clients that show the request must learn that it is over, but the run ends even if this fails.
          await board.withdraw(decisionAbout(request, { reply: 'cancelled' }, clock.now())).catch(() => {});
          await publishReply('reject').catch(() => {});
        }
        throw error;
      } finally {
        count -= 1;
        cancelTimer();
        signal.removeEventListener('abort', onAbort);
      }
    },
    open: board.open,
    async reply(requestID, reply) {
      const request = (await board.open()).find(({ id }) => id === requestID);
      if (request === undefined) return false;
      const refusal = reply.reply === 'always' ? alwaysRefusalOf(request) : undefined;
      if (refusal !== undefined) return refusal;
      if (!(await answer(request, reply))) return false;
      // This one is decided and in effect. Those that the store does not take now stay open: somebody decides them, or their time ends.
      await answerOthers(request, reply).catch((error: unknown) => {
        if (!isStoreFailure(error)) throw error;
      });
      return true;
    },
    standing: createStandingRules(needs),
    count: () => count,
  };
};
