import { effect, signal } from '@preact/signals';
import { ApiError } from '../../api/request.ts';
import { streamedEvents } from '../../api/stream.ts';
import { NO_ANSWER, type StreamedAnswer, takeChunk } from '../../format/chat-answer.ts';
import type { ShownPart } from '../../format/message-parts.ts';
import { failureText } from '../../parts/states.tsx';
import { isOpen, shownApprovals } from '../../state/approvals.ts';
import { forgetConversation, rememberConversation, rememberedConversation } from '../../state/tab-memory.ts';
import { showToast } from '../../state/toasts.ts';
import { api, missingPart } from '../../state/visitor.ts';
import { conversationPath, findSession, followSession, MOST_TURNS, type SessionAddress } from './follow.ts';
import { findTurn, type SessionTurn } from './session-turns.ts';

/**
 * How far an answer is: written into the stream, waiting for a decision, read from its session after one, or over. A permission request
 * ends the answer of the bridge, and what comes after the decision is in the session alone.
 */
export type TurnState = 'writing' | 'waiting' | 'following' | 'done' | 'stopped' | 'failed';

/** A message of the visitor with its answer. */
export type ChatTurn = {
  readonly id: number;
  readonly prompt: string;
  readonly answer: StreamedAnswer;
  readonly state: TurnState;
  /** The agent's session, once it is known. */
  readonly session?: SessionAddress;
  /** What the session has of the answer. It takes the place of what was streamed. */
  readonly stored?: readonly ShownPart[];
  readonly failure?: ApiError;
};

/** The conversation on the page. It is kept while other views are shown. */
export const turns = signal<readonly ChatTurn[]>([]);
/** The model that was chosen; nothing for the bridge's own choice. */
export const chosenModel = signal<string | undefined>(undefined);

/** The chat of before is looked for, or why it was not found. Nothing is sent meanwhile. */
export const resuming = signal<'looking' | ApiError | undefined>(undefined);
/** Whether the session has messages before those on the page. */
export const hasEarlier = signal(false);

let conversation: string = crypto.randomUUID();
let running: AbortController | undefined;
let lastId = 0;

/** Without agent servers nothing but the stream is known of an answer. */
const hasSessions = (): boolean => missingPart('sessions') === undefined;

const change = (id: number, changed: Partial<ChatTurn>): void => {
  turns.value = turns.value.map((turn) => (turn.id === id ? { ...turn, ...changed } : turn));
};
const turnOf = (id: number): ChatTurn | undefined => turns.peek().find((turn) => turn.id === id);

const asFailure = (error: unknown): ApiError => (error instanceof ApiError ? error : new ApiError(0, ''));

/** Whether an answer is on its way: nothing can be sent meanwhile. */
export const isAnswering = (all: readonly ChatTurn[]): boolean => {
  const state = all.at(-1)?.state;
  return state === 'writing' || state === 'following';
};

/** The changes of one frame of the screen at once: an answer may come in hundreds of pieces a second. */
const perFrame = (show: (answer: StreamedAnswer) => void) => {
  let answer = NO_ANSWER;
  let frame: number | undefined;
  const flush = (): void => {
    frame = undefined;
    show(answer);
  };
  return {
    take(data: string): void {
      answer = takeChunk(answer, data, hasSessions());
      frame ??= requestAnimationFrame(flush);
    },
    /** The answer as it is now. Nothing is shown any more after this. */
    end(): StreamedAnswer {
      if (frame !== undefined) cancelAnimationFrame(frame);
      return answer;
    },
  };
};

const stateAfter = ({ approvals, error, finish }: StreamedAnswer): TurnState => {
  if (error !== undefined || finish === undefined) return 'failed';
  return approvals.length > 0 ? 'waiting' : 'done';
};

/** Sends a message in the conversation, and takes its answer as it is written. Never rejects. */
export const sendMessage = async (text: string): Promise<void> => {
  if (isAnswering(turns.peek()) || resuming.peek() !== undefined) return;
  if (hasSessions()) rememberConversation(conversation);
  lastId += 1;
  const id = lastId;
  const mine = new AbortController();
  running = mine;
  turns.value = [...turns.peek(), { id, prompt: text, answer: NO_ANSWER, state: 'writing' }];
  const frames = perFrame((answer) => change(id, { answer }));
  try {
    const model = chosenModel.peek();
    const body = { text, conversation, ...(model === undefined ? {} : { model }) };
    const response = await api.open('POST', '/api/chat', body, mine.signal);
    for await (const data of streamedEvents(response)) frames.take(data);
    const answer = frames.end();
    change(id, { answer, state: stateAfter(answer) });
  } catch (error) {
    const answer = frames.end();
    if (mine.signal.aborted) change(id, { answer, state: 'stopped' });
    else change(id, { answer, state: 'failed', failure: asFailure(error) });
  }
};

/** How an answer ended that its session has. */
const ending = ({ error, isStopped }: SessionTurn): Pick<ChatTurn, 'state'> & Partial<Pick<ChatTurn, 'answer'>> => {
  if (error !== undefined) return { state: 'failed', answer: { ...NO_ANSWER, error } };
  return { state: isStopped ? 'stopped' : 'done' };
};

type ShowStored = (stored: readonly SessionTurn[], isWhole: boolean) => void;

const isNewest = (id: number): boolean => turns.peek().at(-1)?.id === id;

/**
 * Shows an answer as its session has it, until it has ended, or a message follows it, here or in another tab. `show` takes all turns of
 * the session first.
 */
const follow = async (id: number, session: SessionAddress, signal: AbortSignal, show?: ShowStored): Promise<void> => {
  let mine: SessionTurn | undefined;
  await followSession(
    session,
    (stored, isWhole) => {
      show?.(stored, isWhole);
      mine = findTurn(stored, { id: mine?.id, prompt: turnOf(id)?.prompt, isNewest: isNewest(id) });
      if (mine !== undefined) change(id, { stored: mine.parts });
      return mine === undefined ? isNewest(id) : mine === stored.at(-1);
    },
    signal,
  );
  // A message that follows another one's run ends it.
  change(id, mine === undefined ? { state: isNewest(id) ? 'done' : 'stopped' } : ending(mine));
};

/** Ends an answer that could not be followed, or was stopped. */
const endFollowing = (id: number, error: unknown, { aborted }: AbortSignal): void =>
  change(id, aborted ? { state: 'stopped' } : { state: 'failed', failure: asFailure(error) });

/** Reads the rest of an answer from its session, once every request that it ended with is decided. Never rejects. */
export const continueAfterDecision = async (id: number): Promise<void> => {
  const turn = turnOf(id);
  if (turn?.state !== 'waiting' || turn.session === undefined) return;
  const mine = new AbortController();
  if (isNewest(id)) running = mine;
  change(id, { state: 'following' });
  await follow(id, turn.session, mine.signal).catch((error: unknown) => endFollowing(id, error, mine.signal));
};

/** Notes in which session the requests of an answer are, and goes on once all of them have ended, or are hidden since. */
const watchApprovals = ({ id, answer: { approvals }, session }: ChatTurn): void => {
  const shown = (shownApprovals.value ?? []).filter(({ approval }) => approvals.includes(approval.id));
  const first = shown[0]?.approval;
  if (first !== undefined && session === undefined)
    change(id, { session: { agent: first.agent, id: first.parentID ?? first.sessionID } });
  const areAllKnown = shown.length === approvals.length || session !== undefined;
  if (areAllKnown && !shown.some(isOpen)) void continueAfterDecision(id);
};

// Also while another view is shown: there the requests may be decided, and hidden.
effect(() => {
  for (const turn of turns.value) if (turn.state === 'waiting') watchApprovals(turn);
});

/** Ends the answer that is on its way, and its run. */
export const stopAnswer = (): void => {
  if (!isAnswering(turns.peek())) return;
  running?.abort();
  api.send('POST', `${conversationPath(conversation)}/stop`).catch((error: unknown) => {
    // It may not have begun, or have ended by itself.
    if (asFailure(error).status !== 404) showToast(failureText(asFailure(error)), 'bad');
  });
};

const begin = (id: string): AbortController => {
  running?.abort();
  running = new AbortController();
  conversation = id;
  turns.value = [];
  hasEarlier.value = false;
  return running;
};

/** Begins a conversation of its own. */
export const newConversation = (): void => {
  stopAnswer();
  begin(crypto.randomUUID());
  forgetConversation();
  resuming.value = undefined;
};

/** Turns as their session has them, the newest with an id that is known before. */
const shownTurns = (stored: readonly SessionTurn[], session: SessionAddress, newestId: number): readonly ChatTurn[] =>
  stored.map((turn, index): ChatTurn => {
    const before = stored.length - 1 - index;
    const shown = { id: newestId - before, prompt: turn.prompt, session, stored: turn.parts, answer: NO_ANSWER };
    return { ...shown, ...(before === 0 ? { state: 'following' } : ending(turn)) };
  });

/** Shows a conversation of this account again, and what still comes in it. One that is on the page goes on without it. Never rejects. */
export const resumeConversation = async (id: string): Promise<void> => {
  const { signal: mine } = begin(id);
  rememberConversation(id);
  resuming.value = 'looking';
  lastId += MOST_TURNS;
  const newestId = lastId;
  try {
    const session = await findSession(id, mine);
    await follow(newestId, session, mine, (stored, isWhole) => {
      if (resuming.peek() === undefined) return;
      turns.value = shownTurns(stored, session, newestId);
      hasEarlier.value = !isWhole;
      resuming.value = undefined;
    });
  } catch (error) {
    if (resuming.peek() === undefined || mine.aborted) return endFollowing(newestId, error, mine);
    const failure = asFailure(error);
    if (failure.status !== 404) {
      resuming.value = failure;
      return;
    }
    // It was deleted, or is of another account.
    forgetConversation();
    conversation = crypto.randomUUID();
    resuming.value = undefined;
  }
};

/** After a reload: the conversation that this tab has shown before, if there is one. */
export const resumeRemembered = async (): Promise<void> => {
  const id = rememberedConversation();
  if (id !== undefined && resuming.peek() !== 'looking' && turns.peek().length === 0) await resumeConversation(id);
};
