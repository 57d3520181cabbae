import { pause, pauseUntil } from '../../../core/async.ts';
import { Fault } from '../../../core/fault.ts';
import { ANSWER_CUT_OFF_TEXT, GATEHOUSE_METADATA_KEY } from '../../../core/http/agent-api.ts';
import type { Span } from '../../../core/http/tracing.ts';
import { withRetries } from '../../agent/errors.ts';
import type { MessageErrorRecord, PartRecord, PermissionRecord } from '../../agent/schema.ts';
import { type BridgeFault, isBridgeFault, toAnswerFailure } from '../../errors.ts';
import type { AgentUpdate } from './feed.ts';
import { NEVER, type TurnsNeeds } from './needs.ts';
import type { OpenRequests } from './open-requests.ts';
import type { Prompt } from './session-client.ts';

import { applyEvent, applyList, noteGap, type PromptSteps, type Step } from './steps.ts';

/** How a run has ended. */
export type RunEnd = {
  readonly status: 'completed' | 'failed' | 'aborted';
  readonly error?: MessageErrorRecord | undefined;
};

/** A prompt that the agent answers. It goes on without readers, until it has ended or is aborted. */
export type PromptRun = {
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

/** Sends a prompt, and follows its answer by the session's events. What they have not shown at the end is read. */
export const startRun = (
  needs: TurnsNeeds,
  open: OpenRequests,
  { sessionID, prompt, span, onEnd }: StartedRun,
): PromptRun => {
  const { agent, feed, clock, log } = needs;
  const answer: PromptSteps = { steps: [], promptID: undefined, held: undefined };
  const ending = new AbortController();
  const { signal } = ending;
  const begun = Promise.withResolvers<string>();
  begun.promise.catch(() => {});
  let change = Promise.withResolvers<void>();
  let aborting: Promise<void> | undefined;
  let gaps = 0;

  const notify = (): void => {
    change.resolve();
    change = Promise.withResolvers();
  };
  const logFailure = (event: string) => (error: unknown) => {
    if (!signal.aborted) log('warn', event, { reason: error instanceof Fault ? error.detail.kind : 'bug' });
  };
  const retry = <T>(call: () => Promise<T>): Promise<T> => withRetries(call, { ...needs, signal });
  const isOwn = (part: PartRecord): boolean =>
    part.type === 'text' && part.metadata?.[GATEHOUSE_METADATA_KEY].token === prompt.token;
  const setPrompt = (id: string): void => {
    answer.promptID ??= id;
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
        applyList(answer, records);
        notify();
      }
    });
  const onUpdate = (update: AgentUpdate): void => {
    if (update.type === 'gap') {
      gaps += 1;
      noteGap(answer);
      readMessages().catch(logFailure('agent-not-read'));
      return;
    }
    if (update.type === 'message.part.updated' && isOwn(update.properties.part))
      setPrompt(update.properties.part.messageID);
    if (applyEvent(answer, update)) notify();
  };
  const unsubscribe = feed.subscribe(onUpdate, sessionID);
  const requests = open.watch(sessionID, notify);

  const lastInfo = () => answer.steps.at(-1)?.info;
  const endOf = (): RunEnd => {
    const { time, error } = lastInfo() ?? {};
    if (aborting !== undefined && (time?.completed === undefined || isAbortError(error)))
      return { status: 'aborted', error };
    if (error !== undefined) return { status: 'failed', error: isAbortError(error) ? CUT_OFF : error };
    return { status: 'completed' };
  };
  /** The answer to the prompt is lost, so the session is looked at until it is idle. */
  const followLost = async (fault: Fault<BridgeFault>): Promise<RunEnd> => {
    if (isLost(fault)) await readMessages();
    if (answer.promptID === undefined) throw fault;
    log('warn', 'turn-followed', { reason: fault.detail.kind });
    while (await retry(() => agent.isBusy(sessionID, signal))) await pause(clock, POLL_MS, signal);
    await readMessages();
    if (lastInfo()?.time.completed !== undefined || aborting !== undefined) return endOf();
    if (isLost(fault)) return { status: 'failed', error: CUT_OFF };
    const { message } = toAnswerFailure(fault.detail);
    return { status: 'failed', error: { name: 'UnknownError', data: { message } } };
  };
  const send = async (): Promise<RunEnd> => {
    const post = (trace = {}) => agent.prompt(sessionID, prompt, signal, { ...trace });
    const { info } = await needs.traced(span, '/session/:id/message', post);
    await readMessages();
    if (info.role === 'assistant' && answer.promptID === undefined) {
      setPrompt(info.parentID);
      await readMessages();
    }
    return endOf();
  };
  const run = async (): Promise<void> => {
    const end = await send()
      .catch((error: unknown) => {
        if (signal.aborted || !isBridgeFault(error)) throw error;
        return followLost(error);
      })
      .catch((error: unknown): RunEnd => {
        begun.reject(error);
        logFailure('turn-lost')(error);
        return aborting === undefined ? { status: 'failed', error: CUT_OFF } : { status: 'aborted' };
      });
    unsubscribe();
    requests.stop();
    ending.abort(STOPPED);
    onEnd(end, answer.steps);
    notify();
  };
  const readLate = async (): Promise<void> => {
    while (answer.promptID === undefined) {
      await pause(clock, PROMPT_LAG_MS, signal);
      if (answer.promptID === undefined) await readMessages();
    }
  };
  const ended = run();
  readLate().catch(logFailure('agent-not-read'));

  const abort = async (): Promise<void> => {
    const waiting = requests.open();
    await agent.abort(sessionID, answer.promptID, NEVER).catch(logFailure('turn-not-aborted'));
    // OpenCode goes on to list the requests of a turn that was aborted.
    for (const { id } of waiting) await open.reply({ requestID: id, reply: 'reject' }).catch(() => {});
    await pauseUntil(clock, { ms: ABORT_LIMIT_MS, woken: ended }, NEVER);
    ending.abort(STOPPED);
    await ended;
  };
  return {
    steps: answer.steps,
    waiting: requests.open,
    begun: begun.promise,
    nextChange: () => change.promise,
    ended,
    abort() {
      aborting ??= abort();
      return aborting;
    },
    stop: () => ending.abort(STOPPED),
  };
};
