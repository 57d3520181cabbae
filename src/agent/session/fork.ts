import { withoutConversationName } from '../protocol/conversation-name.ts';
import { NO_TOKENS, type Session } from '../protocol/types.ts';
import type { AgentRuntime } from '../runtime.ts';
import type { Store, StoreChange } from '../store/store.ts';
import { endPart } from './awaited-calls.ts';
import type { DocumentRecord } from './document.ts';
import { type MessageShape, readMessageShapes } from './message-shapes.ts';
import { createIDReplacement } from './new-ids.ts';
import { findRevertedContent, messagesBefore, promptIDOf } from './revert.ts';
import { createSlug, notFound, type SessionParts, sessionCreation } from './sessions.ts';

/** `Plan` becomes `Plan (fork #1)`, and that `Plan (fork #2)`. */
export const toForkTitle = (title: string): string => {
  const [, first, count] = /^(.+) \(fork #(\d{1,9})\)$/s.exec(title) ?? [];
  return first === undefined ? `${title} (fork #1)` : `${first} (fork #${Number(count) + 1})`;
};

/**
 * The finished messages: without answers under way, their prompts, and prompts that wait. Where nothing is under way, a
 * prompt without an answer is one that wanted none.
 */
export const finishedMessages = <One extends Pick<MessageShape, 'info'>>(
  messages: readonly One[],
  isBusy: boolean,
): readonly One[] => {
  const answers = messages.flatMap(({ info }) => (info.role === 'assistant' ? [info] : []));
  const open = new Set(answers.filter(({ time }) => time.completed === undefined).map(promptIDOf));
  const answered = new Set(answers.map(promptIDOf));
  const lastAnswered = messages.findLastIndex(({ info }) => info.role === 'user' && answered.has(info.id));
  const isWaiting = ({ info }: One, index: number): boolean =>
    isBusy && info.role === 'user' && !answered.has(info.id) && index > lastAnswered;
  return messages.filter((message, index) => !open.has(promptIDOf(message.info)) && !isWaiting(message, index));
};

/** The messages without what is removed with the session's next prompt, because it was reverted. */
const withoutReverted = (messages: readonly MessageShape[], { revert }: Session): readonly MessageShape[] => {
  if (revert === undefined) return messages;
  const { messageIDs, parts } = findRevertedContent(messages, revert);
  const gone = new Set([...messageIDs, ...parts.map(({ id }) => id)]);
  return messages
    .filter(({ info }) => !gone.has(info.id))
    .map((message) => ({ ...message, parts: message.parts.filter(({ id }) => !gone.has(id)) }));
};

/** The messages of a fork: those before `before`, if it is given, that are finished and not reverted. */
const messagesToFork = (
  session: Session,
  messages: readonly MessageShape[],
  { before, isBusy }: { readonly before: string | undefined; readonly isBusy: boolean },
): readonly MessageShape[] => {
  const included = new Set(
    (before === undefined ? messages : messagesBefore(messages, before)).map(({ info }) => info.id),
  );
  return finishedMessages(withoutReverted(messages, session), isBusy).filter(({ info }) => included.has(info.id));
};

type ReplaceIDs = ReturnType<typeof createIDReplacement>;

/** Size of one commit: larger ones would hold up other writers. */
const GROUP_CHARS = 1024 * 1024;

const toForkedSession = (
  { parentID: _, revert: _gone, awaitedCalls: _awaited, ...original }: Session,
  id: string,
  now: number,
): Session => ({
  ...withoutConversationName(original),
  id,
  slug: createSlug(id),
  title: toForkTitle(original.title),
  cost: 0,
  tokens: NO_TOKENS,
  time: { created: now, updated: now },
});

/** The records of a message that is there still, without parts that are not among the shape's. */
async function* readRecords(
  store: Pick<Store, 'message' | 'output'>,
  { info: { id, sessionID }, parts }: MessageShape,
): AsyncGenerator<DocumentRecord> {
  const stored = await store.message(sessionID, id);
  if (stored === undefined) return;
  const copied = new Set(parts.map((part) => part.id));
  const { info } = stored;
  yield { kind: 'message', message: info };
  const { time } = info;
  for (const part of stored.parts.filter((one) => copied.has(one.id))) {
    // A call whose result is waited for: that goes to the original.
    const ended = 'completed' in time && time.completed !== undefined ? endPart(part, time.completed) : undefined;
    yield { kind: 'part', part: ended ?? part };
    const text = part.type === 'tool' ? await store.output(info.sessionID, part.id) : undefined;
    if (text !== undefined) yield { kind: 'output', partID: part.id, text };
  }
}

/** The changes that copy messages into a begun session, in groups of one commit each. */
async function* copyMessages(
  store: Pick<Store, 'message' | 'output'>,
  messages: readonly MessageShape[],
  { sessionID, replaceIDs }: { readonly sessionID: string; readonly replaceIDs: ReplaceIDs },
): AsyncGenerator<readonly StoreChange[]> {
  let group: StoreChange[] = [];
  let chars = 0;
  for (const message of messages) {
    for await (const record of readRecords(store, message)) {
      const copy = replaceIDs(record);
      group.push(copy.kind === 'output' ? { ...copy, sessionID } : copy);
      chars += JSON.stringify(copy).length;
      if (chars < GROUP_CHARS) continue;
      yield group;
      group = [];
      chars = 0;
    }
  }
  yield group;
}

/** Copies messages into a session that no query returns until it is stored as a `session`. */
const prepareFork = async (
  { store, ids, clock }: AgentRuntime,
  original: Session,
  copied: readonly MessageShape[],
): Promise<Session> => {
  const messages = copied.map(({ info }) => info.id);
  const replaceIDs = createIDReplacement({ sessions: [{ id: original.id, messages }] }, ids);
  const begun = replaceIDs({ kind: 'session', session: original });
  const session = toForkedSession(original, begun.kind === 'session' ? begun.session.id : ids('session'), clock.now());
  const target = { sessionID: session.id, replaceIDs };
  await store.commit([{ kind: 'session-begun', session }], []);
  try {
    for await (const changes of copyMessages(store, copied, target)) await store.commit(changes, []);
  } catch (error) {
    await giveUpFork(store, session);
    throw error;
  }
  return session;
};

/** Removes a prepared session. Should this fail: what is left is hidden, and pruned later. */
export const giveUpFork = async (store: Store, { id }: Session): Promise<void> => {
  await store.commit([{ kind: 'session-given-up', sessionID: id }], []).catch(() => {});
};

/**
 * Prepares a session with copies of another session's messages up to one of them, in the order in which a model receives them.
 * All of them must be finished. It is hidden until it is stored as a `session`.
 */
export const prepareForkThrough = async (
  needs: AgentRuntime,
  original: Session,
  messageID: string,
): Promise<Session> => {
  const stored = withoutReverted(await readMessageShapes(needs.store, original.id), original);
  const before = new Set(messagesBefore(stored, messageID).map(({ info }) => info.id));
  const copied = stored.filter(({ info }) => before.has(info.id) || info.id === messageID);
  return prepareFork(needs, original, copied);
};

/**
 * Creates a session with copies of another session's finished messages before one of them, or of all. No query returns it
 * before it is complete. Ids are new, and references to messages and parts lead to the copies.
 */
export const forkSession = async (
  needs: SessionParts,
  sessionID: string,
  before: string | undefined,
): Promise<Session> => {
  const { store, publisher, sessions, runs } = needs;
  const original = await sessions.get(sessionID);
  const isBusy = Object.hasOwn(await runs.statuses(), sessionID);
  const stored = await readMessageShapes(store, sessionID);
  if (before !== undefined && !stored.some(({ info }) => info.id === before)) throw notFound('message', before);
  const session = await prepareFork(needs, original, messagesToFork(original, stored, { before, isBusy }));
  try {
    await publisher.publish(session.directory, sessionCreation(session));
  } catch (error) {
    await giveUpFork(store, session);
    throw error;
  }
  return session;
};
