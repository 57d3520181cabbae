import { pause, pauseUntil } from '../../../core/async.ts';
import { Fault } from '../../../core/fault.ts';
import { ANSWER_CUT_OFF_TEXT } from '../../../core/http/answer-cut-off.ts';
import { GATEHOUSE_METADATA_KEY } from '../../../core/http/conversation-metadata.ts';
import type { Span } from '../../../core/http/tracing.ts';
import { withRetries } from '../../agent/errors.ts';
import type { MessageErrorRecord, MessageRecord, PartRecord, PermissionRecord } from '../../agent/schema.ts';
import type { Prompt } from '../../agent/session-client.ts';
import type { AgentEventUpdate } from '../../agent/types.ts';
import { type BridgeFault, isBridgeFault, toAnswerFailure } from '../../errors.ts';
import { NEVER, type TurnsNeeds } from './needs.ts';
import type { OpenRequests } from './open-requests.ts';
import { createStepReducer, type Step } from './steps.ts';

/** How a run has ended. */
export type RunEnd = {
  readonly status: 'completed' | 'failed' | 'aborted';
  readonly error?: MessageErrorRecord | undefined;
};

/** A prompt that the agent answers. It goes on without readers, until it has ended or is aborted. */
export type PromptRun = {
  readonly sessionID: string;
  readonly steps: readonly Step[];
  readonly waiting: () => readonly PermissionRecord[];
  /** Resolves to the id of the prompt's message. Rejects where the agent has not taken the prompt. */
  readonly begun: Promise<string>;
  /** Resolves at the next change, also at the end. */
  readonly nextChange: () => Promise<void>;
  /** Never rejects. */
  readonly ended: Promise<void>;
  /** Aborts it at the agent, once. Resolves when it has ended. */
  readonly abort: () => Promise<void>;
  /** Looks at the agent no more. */
  readonly stop: () => void;
};

type StartedRun = {
  readonly sessionID: string;
  readonly prompt: Prompt & { readonly token: string };
  readonly span: Span | undefined;
  /** Called once, before the last change is announced. */
  readonly onEnd: (end: RunEnd, steps: readonly Step[]) => void;
};

type RunNeeds = Pick<TurnsNeeds, 'agent' | 'traced' | 'feed' | 'clock' | 'chance' | 'log'> & {
  readonly requests: OpenRequests;
};

/** The event stream is another connection, and may be so much behind the answer to the prompt. */
const EVENT_LAG_MS = 250;
/** After so long without an event about the prompt the agent's messages are read. */
const PROMPT_LAG_MS = 1000;
/** How long an aborted agent may take to end its answer. */
const ABORT_LIMIT_MS = 2000;
/** How often a session is looked at whose answer was lost. */
const POLL_MS = 1000;

const STOPPED = new Fault({ kind: 'client-left' });
const CUT_OFF: MessageErrorRecord = { name: 'MessageAbortedError', data: { message: ANSWER_CUT_OFF_TEXT } };

const isAbortError = (error: MessageErrorRecord | undefined): boolean => error?.name === 'MessageAbortedError';

/** Whether the answer to a prompt was lost on its way, so that the agent may be at work on it. */
const isLost = ({ detail }: Fault<BridgeFault>): boolean =>
  detail.kind === 'agent-failed' && ['agent_lost', 'agent_failed', 'agent_unusable'].includes(detail.code);

/** Sends a prompt, and follows its answer by the session's events. */
export const startRun = (needs: RunNeeds, { sessionID, prompt, span, onEnd }: StartedRun): PromptRun => {
  const { agent, traced, feed, clock, chance, log } = needs;
  const reducer = createStepReducer();
  const ending = new AbortController();
  const { signal } = ending;
  const begun = Promise.withResolvers<string>();
  begun.promise.catch(() => {});
  let change: PromiseWithResolvers<void> | undefined;
  let aborting: Promise<void> | undefined;
  let gaps = 0;

  const notify = (): void => {
    change?.resolve();
    change = undefined;
  };
  const nextChange = (): Promise<void> => {
    change ??= Promise.withResolvers();
    return change.promise;
  };
  const retry = <T>(call: () => Promise<T>): Promise<T> => withRetries(call, { clock, chance, signal });
  const isOwn = (part: PartRecord): boolean =>
    part.type === 'text' && part.metadata?.[GATEHOUSE_METADATA_KEY].token === prompt.token;
  const setPrompt = (id: string): void => {
    reducer.setPrompt(id);
    begun.resolve(id);
  };
  const readMessages = (): Promise<void> =>
    retry(async () => {
      // A list from before the last gap would hide the events that were lost in it.
      for (let known = -1; known !== gaps; ) {
        known = gaps;
        const records = await agent.messages(sessionID, signal);
        if (known !== gaps) continue;
        const own = records.find(({ parts }) => parts.some(isOwn));
        if (own !== undefined) setPrompt(own.info.id);
        reducer.applyList(records);
        notify();
      }
    });
  const logFailure = (event: string) => (error: unknown) => {
    if (!signal.aborted) log('warn', event, { reason: error instanceof Fault ? error.detail.kind : 'bug' });
  };
  const onUpdate = (update: AgentEventUpdate): void => {
    if (update.kind === 'gap') {
      gaps += 1;
      reducer.noteGap();
      readMessages().catch(logFailure('agent-not-read'));
      return;
    }
    const { event } = update;
    if (event.type === 'message.part.updated' && isOwn(event.properties.part))
      setPrompt(event.properties.part.messageID);
    reducer.applyEvent(event);
    notify();
  };
  const unsubscribe = feed.subscribe(onUpdate, sessionID);
  const requests = needs.requests.watch(sessionID, notify);

  const lastStep = (): Step | undefined => reducer.steps.at(-1);
  const isComplete = (id: string): boolean =>
    reducer.steps.some(({ info }) => info.id === id && info.time.completed !== undefined);
  const endOf = (): RunEnd => {
    const info = lastStep()?.info;
    if (aborting !== undefined && (info?.time.completed === undefined || isAbortError(info.error)))
      return { status: 'aborted', error: info?.error };
    if (info?.error !== undefined) return { status: 'failed', error: isAbortError(info.error) ? CUT_OFF : info.error };
    return { status: 'completed' };
  };
  const catchUp = async ({ info }: MessageRecord): Promise<RunEnd> => {
    const until = clock.now() + EVENT_LAG_MS;
    while (gaps === 0 && !isComplete(info.id) && clock.now() < until)
      await pauseUntil(clock, { ms: until - clock.now(), woken: nextChange() }, signal);
    if (gaps > 0 || !isComplete(info.id)) {
      await readMessages();
      if (info.role === 'assistant' && reducer.promptID() === undefined) {
        setPrompt(info.parentID);
        await readMessages();
      }
    }
    return endOf();
  };
  /** The answer to the prompt is lost, so the session is looked at until it is idle. */
  const pollUntilEnd = async (): Promise<RunEnd> => {
    while (await retry(() => agent.isBusy(sessionID, signal))) await pause(clock, POLL_MS, signal);
    await readMessages();
    const isCut = lastStep()?.info.time.completed === undefined;
    return isCut && aborting === undefined ? { status: 'failed', error: CUT_OFF } : endOf();
  };
  const follow = async (fault: Fault<BridgeFault>): Promise<RunEnd> => {
    if (isLost(fault)) await readMessages();
    if (reducer.promptID() === undefined) throw fault;
    log('warn', 'turn-followed', { reason: fault.detail.kind });
    const end = await pollUntilEnd();
    if (end.error !== CUT_OFF || isLost(fault)) return end;
    return {
      status: 'failed',
      error: { name: 'UnknownError', data: { message: toAnswerFailure(fault.detail).message } },
    };
  };
  const send = async (): Promise<RunEnd> => {
    try {
      const post = (trace = {}) => agent.prompt(sessionID, prompt, signal, { ...trace });
      return await catchUp(await traced(span, '/session/:id/message', post));
    } catch (error) {
      if (signal.aborted || !isBridgeFault(error)) throw error;
      return follow(error);
    }
  };
  const untilEnd = (): Promise<RunEnd> =>
    send().catch((error: unknown) => {
      begun.reject(error);
      logFailure('turn-lost')(error);
      return aborting === undefined ? { status: 'failed', error: CUT_OFF } : { status: 'aborted' };
    });
  const run = async (): Promise<void> => {
    const end = await untilEnd();
    unsubscribe();
    requests.stop();
    ending.abort(STOPPED);
    onEnd(end, reducer.steps);
    notify();
  };
  const readLater = async (): Promise<void> => {
    for (;;) {
      await pause(clock, PROMPT_LAG_MS, signal);
      if (reducer.promptID() !== undefined) return;
      await readMessages();
    }
  };
  const ended = run();
  readLater().catch(logFailure('agent-not-read'));

  const abort = async (): Promise<void> => {
    const open = requests.open();
    await agent.abort(sessionID, reducer.promptID(), NEVER).catch(logFailure('turn-not-aborted'));
    // OpenCode goes on to list the requests of a turn that was aborted.
    for (const { id } of open) await needs.requests.reply({ requestID: id, reply: 'reject' }).catch(() => {});
    await pauseUntil(clock, { ms: ABORT_LIMIT_MS, woken: ended }, NEVER);
    ending.abort(STOPPED);
    await ended;
  };
  return {
    sessionID,
    steps: reducer.steps,
    waiting: requests.open,
    begun: begun.promise,
    nextChange,
    ended,
    abort() {
      aborting ??= abort();
      return aborting;
    },
    stop: () => ending.abort(STOPPED),
  };
};
