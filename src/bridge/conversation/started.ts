import type { Clock } from '../../core/clock.ts';
import type { KeyedQueue } from '../../core/keyed-queue.ts';
import type { RunInSlices } from '../../core/time-slices.ts';
import type { MessageRecord } from '../agent/schema.ts';
import type { AgentClient } from '../agent/types.ts';
import { IDEMPOTENCY_KEY_REUSED } from '../request.ts';
import type { NewHash } from './digest.ts';
import type { ConversationPlan, LockConversation } from './lock.ts';
import type { ConversationIndex } from './lookup.ts';
import { readHistory, storedBase } from './match.ts';
import { promptIDsIn, type StoredConversation } from './record.ts';
import { queueKeyOf } from './resolve.ts';
import { responseTokenOf } from './response-id.ts';
import type { ConversationSync } from './sync.ts';
import type { Conversations, LockedConversation, MarkedRequest, RequestMark, StartedTurn } from './types.ts';

type StartedTurnsNeeds = {
  readonly agent: Pick<AgentClient, 'messages' | 'busySessions'>;
  readonly index: ConversationIndex;
  readonly sync: ConversationSync;
  readonly queue: KeyedQueue;
  readonly lock: LockConversation;
  /** Tokens of the answers that this bridge gives now: it knows whose they are. */
  readonly ownTokens: ReadonlySet<string>;
  readonly newHash: NewHash;
  readonly runInSlices: RunInSlices;
  readonly clock: Clock;
};

/** No client tries again later than that. */
const KNOWN_MS = 3_600_000;

type Marked = StoredConversation & { readonly request: RequestMark };
const isMarked = (conversation: StoredConversation): conversation is Marked => conversation.request !== undefined;

const exchangeOf = ({ exchanges, request }: Marked) =>
  exchanges.find(({ token }) => token === responseTokenOf(request.token));

/** A client that says that it tries again gets an answer for this long after it has ended: it may have been lost on its way. */
const GIVEN_AGAIN_MS = 10_000;

/** Without a key an equal request is a new one once the answer was given, but not if that was cut off. */
const isAnswered = (conversation: Marked): boolean =>
  exchangeOf(conversation) !== undefined && conversation.stoppedAt === undefined;

/** Whether the last turn of a session was completed, and the tools that it has called. */
const readTurn = (
  records: readonly MessageRecord[],
  promptID: string,
): { readonly isComplete: boolean; readonly toolNames: readonly string[] } => {
  const from = records.findIndex(({ info }) => info.id === promptID);
  const answers = from === -1 ? [] : records.slice(from).filter(({ info }) => info.role === 'assistant');
  const last = answers.at(-1)?.info;
  return {
    isComplete:
      last?.role === 'assistant' &&
      last.time.completed !== undefined &&
      last.finish !== 'tool-calls' &&
      last.error?.name !== 'MessageAbortedError',
    toolNames: answers.flatMap(({ parts }) =>
      parts.flatMap((part) => (part.type === 'tool' && part.state.status !== 'pending' ? [part.tool] : [])),
    ),
  };
};

/** Finds turns that were started before this process, by the marks in the metadata of their sessions. */
export const createStartedTurns = (needs: StartedTurnsNeeds): Conversations['findStarted'] => {
  const { agent, index, sync, queue, lock, ownTokens, newHash, runInSlices, clock } = needs;
  /** Tokens of turns that a request without a key has got now. An equal request of another user must not get the same. */
  const given = new Set<string>();

  const findMarked = ({ owner, mark, isRetry, isKnown }: MarkedRequest): Marked | undefined => {
    const mayBeLost = ({ usedAt, request }: Marked): boolean =>
      isKnown || (isRetry && (request.isUnread === true || clock.now() - usedAt < GIVEN_AGAIN_MS));
    const isNew = (conversation: Marked): boolean => isAnswered(conversation) && !mayBeLost(conversation);
    const isMeant = (conversation: StoredConversation): boolean => {
      if (!isMarked(conversation) || clock.now() - conversation.usedAt > KNOWN_MS) return false;
      const { keyDigest, digest: known, token } = conversation.request;
      if (ownTokens.has(token)) return false;
      if (keyDigest !== mark.keyDigest) return false;
      return keyDigest !== undefined || (known === mark.digest && !isNew(conversation) && !given.has(token));
    };
    const found = index.find(owner, isMeant);
    if (found === undefined || !isMarked(found)) return undefined;
    if (found.request.digest !== mark.digest) throw IDEMPOTENCY_KEY_REUSED;
    return found;
  };
  /** The conversation with the prompt's id in its mark, if the agent has got the prompt. */
  const withPrompt = async (marked: Marked, signal: AbortSignal): Promise<Marked | undefined> => {
    if (marked.request.promptID !== undefined) return marked;
    const known = promptIDsIn(marked);
    const find = () => {
      const conversation = index.bySession(marked.sessionID);
      return conversation && { conversation };
    };
    const current = (await sync.findUpToDate(find, signal))?.conversation;
    const unseen = current?.exchanges.findLast(({ promptID }) => promptID !== '' && !known.has(promptID))?.promptID;
    const promptID = exchangeOf(marked)?.promptID || unseen;
    if (current?.request !== marked.request || promptID === undefined) return undefined;
    const completed = { ...current, request: { ...marked.request, promptID } };
    index.put(completed);
    return completed;
  };

  const findTurn = async (
    { request, owner }: MarkedRequest,
    marked: Marked,
    signal: AbortSignal,
  ): Promise<StartedTurn | undefined> => {
    const found = await withPrompt(marked, signal);
    const promptID = found?.request.promptID;
    if (found === undefined || promptID === undefined) return undefined;
    const { sessionID, name, isNamed } = found;
    const isBusy = (await agent.busySessions(signal)).has(sessionID);
    const { isComplete, toolNames } = readTurn(await agent.messages(sessionID, signal), promptID);
    if (!isBusy && !isComplete) return toolNames.length === 0 ? undefined : { kind: 'cut-off', toolNames };
    const history = await runInSlices(readHistory(request.history, newHash), signal);
    const find: ConversationPlan['find'] = () => {
      const conversation = index.bySession(sessionID);
      if (conversation === undefined) return undefined;
      const reliesOnStored = request.conversation.kind !== 'unnamed' && history.entries.length === 0;
      return { conversation, base: reliesOnStored ? storedBase(conversation) : history.base };
    };
    const { prompt } = request;
    const plan = {
      owner,
      name,
      isNamed,
      isStored: true,
      prompt,
      mark: found.request,
      find,
      waitsForOthers: false,
      replay: async () => history,
    };
    const ticket = queue.join(queueKeyOf(plan));
    return {
      kind: 'known',
      name,
      mark: found.request,
      promptID,
      isRecorded: exchangeOf(found) !== undefined,
      lock: (lockSignal) => lock(plan, ticket, lockSignal),
    };
  };

  return async (sent, signal) => {
    await sync.load(signal);
    const marked = findMarked(sent);
    if (marked === undefined) return undefined;
    const { token } = marked.request;
    const giveBack = (): void => void given.delete(token);
    if (sent.mark.keyDigest === undefined) given.add(token);
    const turn = await findTurn(sent, marked, signal).catch((error: unknown) => {
      giveBack();
      throw error;
    });
    if (turn?.kind !== 'known') {
      giveBack();
      return turn;
    }
    const lockTurn = async (lockSignal: AbortSignal): Promise<LockedConversation> => {
      try {
        const locked = await turn.lock(lockSignal);
        const release = (): void => {
          // What no one had read is given once.
          if (marked.request.isUnread !== true) giveBack();
          locked.release();
        };
        return { ...locked, release };
      } catch (error) {
        giveBack();
        throw error;
      }
    };
    return { ...turn, lock: lockTurn };
  };
};
