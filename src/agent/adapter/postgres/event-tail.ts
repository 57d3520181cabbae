import { StoreUnavailableError } from '../../store/errors.ts';
import type { DirectoryEvent } from '../../store/store.ts';
import type { createPostgresReads } from './queries/reads.ts';
import { beforeGroup, groupOf } from './schema/commit-function.ts';

const PAGE = { limit: 500, limitBytes: 4 * 1024 * 1024 };
const RETRY_AFTER_MS = 200;
/** How long to wait for a group of another server that has its number and has not ended. */
const UNSETTLED_AFTER_MS = [2, 5, 10, 25, 50, 100, 200] as const;

type EventTailParts = {
  readonly reads: Pick<ReturnType<typeof createPostgresReads>, 'settledEvents' | 'noteSettled'>;
  /** Every event up to this group is older than this server. */
  readonly from: number;
  readonly isClosing: () => boolean;
};

/** Puts the events of this server and of others in one order. */
export type EventTail = {
  /** Receives the events of other servers. */
  readonly listen: (listener: (placed: readonly DirectoryEvent[]) => void) => void;
  /** Has it read events that other servers may have stored. */
  readonly check: () => void;
  /** All groups up to this one have been passed on. */
  readonly passed: () => number;
  /** A group of this server is sent, and may be stored at any moment. */
  readonly beginGroup: () => void;
  /** Nothing more is heard of the group: `whenPrecedingPassed` was called for it, or it has failed. */
  readonly endGroup: () => void;
  /** Resolves when all events before this group of this server have been passed on. Rejects when the store closes before. */
  readonly whenPrecedingPassed: (group: number) => Promise<void>;
};

/**
 * Passes on the events of other servers in the order of their ids. This server's own events are passed on by the caller of
 * `commit`: their group waits for what precedes it. Numbers of groups have no gaps but those of groups that failed, so no
 * read is needed for a group that follows the last one.
 */
export const createEventTail = ({ reads, from, isClosing }: EventTailParts): EventTail => {
  /** All groups up to this one have been passed on. */
  let passed = from;
  let afterID = beforeGroup(from + 1);
  const own: { readonly group: number; readonly pass: () => void; readonly fail: (error: Error) => void }[] = [];
  let onEvents: ((placed: readonly DirectoryEvent[]) => void) | undefined;
  let isDue = false;
  let isSending = false;
  let groupsSent = 0;
  let isWorking = false;
  let wake = (): void => {};

  const pause = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  const moveTo = (group: number): void => {
    if (group <= passed) return;
    passed = group;
    afterID = beforeGroup(group + 1);
    reads.noteSettled(group);
  };
  /** Passes on a page of what other servers stored, before the first own group that waits. Returns whether more may be there. */
  const passPage = async (): Promise<boolean> => {
    const [first, sentBefore] = [own[0], groupsSent];
    const beforeID = first && beforeGroup(first.group);
    const { events, settled, isWhole } = await reads.settledEvents({ afterID, ...PAGE }, beforeID);
    // A group of this server that was stored meanwhile may be among them: it is read again once that has its number.
    if (first === undefined && groupsSent !== sentBefore) {
      isDue = true;
      return false;
    }
    if (events.length > 0) onEvents?.(events);
    const last = events.at(-1)?.event.id;
    if (isWhole) moveTo(first === undefined ? settled : Math.min(settled, first.group - 1));
    else if (last !== undefined) {
      passed = Math.max(passed, groupOf(last) - 1);
      afterID = last;
    }
    return !isWhole;
  };
  const work = async (): Promise<void> => {
    for (let tries = 0; ; ) {
      while (own[0] !== undefined && own[0].group <= passed + 1) {
        moveTo(own[0].group);
        own.shift()?.pass();
        tries = 0;
      }
      // Passed on now, its events would hide from clients those that precede them.
      if (isClosing()) for (const { fail } of own.splice(0)) fail(new StoreUnavailableError('unanswered', true));
      const waits = own.length > 0;
      if (isClosing() || (!waits && (!isDue || isSending))) return;
      isDue = false;
      try {
        if (await passPage()) isDue = true;
        else if (waits && own[0] !== undefined && own[0].group > passed + 1) {
          await pause(UNSETTLED_AFTER_MS[Math.min(tries, UNSETTLED_AFTER_MS.length - 1)] ?? 0);
          tries += 1;
        }
      } catch {
        // Events that are skipped now would arrive out of order.
        isDue = true;
        await pause(RETRY_AFTER_MS);
      }
    }
  };
  const begin = (): void => {
    if (isWorking) {
      wake();
      return;
    }
    isWorking = true;
    void work().finally(() => {
      isWorking = false;
      // What came after its last look.
      if (!isClosing() && (own.length > 0 || (isDue && !isSending))) begin();
    });
  };
  return {
    passed: () => passed,
    listen(listener) {
      onEvents = listener;
    },
    check() {
      isDue = true;
      begin();
    },
    beginGroup() {
      isSending = true;
      groupsSent += 1;
    },
    endGroup() {
      isSending = false;
      if (isDue) begin();
    },
    async whenPrecedingPassed(group) {
      // The usual case of a server alone.
      if (own.length === 0 && group === passed + 1) return moveTo(group);
      await new Promise<void>((pass, fail) => {
        own.push({ group, pass, fail });
        begin();
      });
    },
  };
};
