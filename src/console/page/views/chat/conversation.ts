import { effect, signal } from '@preact/signals';
import { ApiError } from '../../api/request.ts';
import { streamedEvents } from '../../api/stream.ts';
import { NO_ANSWER, type StreamedAnswer, takeChunk } from '../../format/chat-answer.ts';
import type { ShownPart } from '../../format/message-parts.ts';
import { failureText } from '../../parts/states.tsx';
import { isOpen, shownApprovals } from '../../state/approvals.ts';
import { showToast } from '../../state/toasts.ts';
import { api, isAdmin } from '../../state/visitor.ts';
import { followTurn, type SessionAddress } from './follow.ts';

/**
 * How far an answer is: written into the stream, waiting for a decision, read from its session after one, or over. A permission request
 * ends the answer of the bridge, and what comes after the decision is in the session alone.
 */
export type TurnState = 'writing' | 'waiting' | 'following' | 'done' | 'stopped' | 'failed';

/** A message of the visitor with its answer. */
export type Turn = {
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
export const turns = signal<readonly Turn[]>([]);
/** The model that was chosen; nothing for the bridge's own choice. */
export const chosenModel = signal<string | undefined>(undefined);

let conversation = crypto.randomUUID();
let running: AbortController | undefined;
let lastId = 0;

const change = (id: number, changed: Partial<Turn>): void => {
  turns.value = turns.value.map((turn) => (turn.id === id ? { ...turn, ...changed } : turn));
};
const turnOf = (id: number): Turn | undefined => turns.peek().find((turn) => turn.id === id);

/** Whether an answer is on its way: nothing can be sent meanwhile. */
export const isAnswering = (all: readonly Turn[]): boolean => {
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
      answer = takeChunk(answer, data);
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
  if (isAnswering(turns.peek())) return;
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
    for await (const { data } of streamedEvents(response)) frames.take(data);
    const answer = frames.end();
    change(id, { answer, state: stateAfter(answer) });
  } catch (error) {
    const answer = frames.end();
    if (mine.signal.aborted) change(id, { answer, state: 'stopped' });
    else {
      const failure = error instanceof ApiError ? error : new ApiError(0, '');
      change(id, { answer, state: 'failed', failure });
    }
  }
};

/** Reads the rest of an answer from its session, once every request that it ended with is decided. Never rejects. */
export const continueAfterDecision = async (id: number): Promise<void> => {
  const turn = turnOf(id);
  if (turn?.state !== 'waiting' || turn.session === undefined) return;
  const mine = new AbortController();
  running = mine;
  change(id, { state: 'following' });
  try {
    await followTurn(turn.session, (stored) => change(id, { stored }), mine.signal);
    change(id, { state: 'done' });
  } catch (error) {
    if (mine.signal.aborted) change(id, { state: 'stopped' });
    else change(id, { state: 'failed', failure: error instanceof ApiError ? error : new ApiError(0, '') });
  }
};

/** Notes in which session the requests of an answer are, and goes on once all of them have ended, or are hidden since. */
const watchApprovals = ({ id, answer: { approvals }, session }: Turn): void => {
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

/**
 * Ends the answer that is on its way. The bridge aborts the turn when its client leaves; after a decision nobody waits there, and
 * an admin's stop aborts the run in its session.
 */
export const stopAnswer = (): void => {
  const last = turns.peek().at(-1);
  running?.abort();
  if (last?.state !== 'following' || last.session === undefined || !isAdmin.peek()) return;
  const { agent, id } = last.session;
  api
    .send('POST', `/api/sessions/${agent}/${encodeURIComponent(id)}/abort`)
    .catch((error: unknown) => showToast(error instanceof ApiError ? failureText(error) : String(error), 'bad'));
};

/** Begins a conversation of its own. */
export const newConversation = (): void => {
  stopAnswer();
  conversation = crypto.randomUUID();
  turns.value = [];
};
