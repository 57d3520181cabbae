import { Worker } from 'node:worker_threads';
import { Fault } from '../../../core/fault.ts';
import type { Views } from '../../text/decode.ts';
import type { MakeViewsElsewhere } from '../../text/make-views.ts';
import { TOGETHER_CHARS } from '../../text/owner-load.ts';
import type { ThreadAnswer, ThreadQuestion } from './messages.ts';
import { THREAD_CODE } from './thread-code.ts';

/** A thread that makes views. It starts with the first text, and again with the next one after it has ended. */
type ViewsThread = {
  /**
   * Undefined where no thread can be started. A thread that dies fails the texts it has with `overloaded`: any of them may
   * have been the reason, and must not end the process as well.
   */
  readonly makeViews: MakeViewsElsewhere;
  /** What the thread's heap may take, beside that of the process. */
  readonly heapBytes: number;
  readonly stop: () => Promise<void>;
};

type ThreadLimits = {
  /** Without texts for so long, it is ended. */
  readonly idleMs: number;
  /** Within this time it must notice that a text is no longer wanted, or it is ended. On a busy machine it gets little time. */
  readonly noticeMs: number;
  /** After a start that failed, none is tried for so long. */
  readonly restMs: number;
};

const LIMITS: ThreadLimits = { idleMs: 60_000, noticeMs: 30_000, restMs: 60_000 };

type ViewsThreadNeeds = {
  /** The longest text, in UTF-16 units. The memory that the thread may take depends on it. */
  readonly maxChars: number;
  /** Called when a thread ended that was not meant to: with the code or name of its error, never with its message. */
  readonly onDied: (reason: string) => void;
  readonly limits?: ThreadLimits;
  readonly startWorker?: (maxChars: number) => Worker;
};

/** The costliest text known takes up to a hundred bytes a character while it is decoded. */
const HEAP_BYTES_PER_CHAR = 120;
const BASE_HEAP_MEGABYTES = 24;
const YOUNG_MEGABYTES = 6;

const oldGenerationMegabytes = (maxChars: number): number =>
  BASE_HEAP_MEGABYTES + Math.ceil((Math.max(TOGETHER_CHARS, maxChars) * HEAP_BYTES_PER_CHAR) / 2 ** 20);

const startThread = (maxChars: number): Worker => {
  const options = {
    // Neither keys nor settings.
    env: {},
    name: 'views',
    resourceLimits: {
      maxOldGenerationSizeMb: oldGenerationMegabytes(maxChars),
      maxYoungGenerationSizeMb: YOUNG_MEGABYTES,
    },
  };
  return THREAD_CODE === undefined
    ? new Worker(new URL('./thread-entry.ts', import.meta.url), options)
    : new Worker(THREAD_CODE, { ...options, eval: true });
};

const reasonOf = (error: unknown): string => {
  if (!(error instanceof Error)) return typeof error;
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
};

type Asked = {
  readonly resolve: (views: Views | undefined) => void;
  readonly reject: (error: unknown) => void;
};

type Thread = {
  readonly ask: MakeViewsElsewhere;
  readonly end: () => Promise<unknown>;
};

const RETRY_AFTER_MS = 1000;

/** One thread from its start to its end. `onOver` is called once, with a reason unless `end` was called. */
const openThread = (
  worker: Worker,
  limits: ThreadLimits,
  onOver: (reason: string | undefined, hasStarted: boolean) => void,
): Thread => {
  const asked = new Map<number, Asked>();
  /** Texts that are no longer wanted and that the thread still has. */
  const left = new Map<number, NodeJS.Timeout>();
  let lastId = 0;
  let hasStarted = false;
  let isOver = false;
  let idle: NodeJS.Timeout | undefined;

  const end = (reason?: string): Promise<unknown> => {
    if (isOver) return Promise.resolve();
    isOver = true;
    clearTimeout(idle);
    for (const timer of left.values()) clearTimeout(timer);
    onOver(reason, hasStarted);
    for (const { resolve, reject } of asked.values()) {
      if (hasStarted) reject(new Fault({ kind: 'overloaded', retryAfterMs: RETRY_AFTER_MS }));
      else resolve(undefined);
    }
    return worker.terminate();
  };
  const rest = (): void => {
    if (asked.size > 0 || left.size > 0 || isOver) return;
    worker.unref();
    idle = setTimeout(() => void end(), limits.idleMs).unref();
  };
  const take = ({ id, views, error }: ThreadAnswer): void => {
    hasStarted = true;
    if (id === undefined) return;
    clearTimeout(left.get(id));
    left.delete(id);
    const waiting = asked.get(id);
    asked.delete(id);
    if (views !== undefined) waiting?.resolve(views);
    else waiting?.reject(error);
    rest();
  };
  worker.on('message', take);
  worker.on('messageerror', () => void end('messageerror'));
  // An error may pass the thread's last messages, among them that it has started. Its exit does not.
  let reason = 'exit';
  worker.on('error', (error) => {
    reason = reasonOf(error);
  });
  worker.on('exit', () => void end(reason));

  return {
    end: () => end(),
    ask(text, owner, signal) {
      const id = ++lastId;
      const question: ThreadQuestion = { id, text, owner };
      clearTimeout(idle);
      worker.ref();
      const { promise, resolve, reject } = Promise.withResolvers<Views | undefined>();
      const leave = (): void => {
        if (!asked.delete(id)) return;
        const unwanted: ThreadQuestion = { id };
        worker.postMessage(unwanted);
        left.set(id, setTimeout(() => void end('hung'), limits.noticeMs).unref());
        reject(signal.reason);
      };
      asked.set(id, { resolve, reject });
      signal.addEventListener('abort', leave, { once: true });
      worker.postMessage(question);
      return promise.finally(() => signal.removeEventListener('abort', leave));
    },
  };
};

/** Creates the thread's front. It starts nothing before the first text. */
export const createViewsThread = ({
  maxChars,
  onDied,
  limits = LIMITS,
  startWorker = startThread,
}: ViewsThreadNeeds): ViewsThread => {
  let thread: Thread | undefined;
  let isStopped = false;
  let restsUntil = 0;

  const onOver = (reason: string | undefined, hasStarted: boolean): void => {
    thread = undefined;
    if (reason === undefined) return;
    if (!hasStarted) restsUntil = performance.now() + limits.restMs;
    onDied(reason);
  };
  const open = (): Thread | undefined => {
    if (isStopped || performance.now() < restsUntil) return undefined;
    try {
      return openThread(startWorker(maxChars), limits, onOver);
    } catch (error) {
      onOver(reasonOf(error), false);
      return undefined;
    }
  };
  return {
    heapBytes: (oldGenerationMegabytes(maxChars) + YOUNG_MEGABYTES) * 2 ** 20,
    async makeViews(text, owner, signal) {
      signal.throwIfAborted();
      thread ??= open();
      return thread?.ask(text, owner, signal);
    },
    async stop() {
      isStopped = true;
      await thread?.end();
    },
  };
};
