import type { SendSse } from '../../../core/http/sse.ts';
import type { AgentEvent } from '../../protocol/events.ts';
import type { AgentRuntime } from '../../runtime.ts';
import type { Approvals } from '../../tools/approvals.ts';
import { isOpenStatus } from '../joining.ts';
import { requireTurn } from '../records.ts';
import { isRefusal } from '../refusals.ts';
import { createKnownSteps } from './known-steps.ts';
import { stepOf } from './log.ts';
import type { FollowSession } from './session-events.ts';
import { outputPosition, readFacts, readSteps, type ShownTurn, statusOf, type TurnFacts, toShownTurn } from './view.ts';

type ReaderNeeds = AgentRuntime & { readonly approvals: Approvals; readonly followSession: FollowSession };

/** What is read: the output of a turn after a position. */
type Following = {
  readonly facts: TurnFacts;
  readonly after: number;
  /** Nothing of the turn can have happened yet. */
  readonly isFresh: boolean;
  /** The data of the first event, `turn`. */
  readonly first: unknown;
};

/** How a reader's stream ended. `over`: it has had all of the turn. */
export type ReaderEnd = 'over' | 'left' | 'stopped';

/** When something is missing, how long it may still come by itself. */
const GAP_MS = 300;

/** What of a view is worth an event. */
const shownOf = ({ status, waiting, calls }: ShownTurn): string =>
  JSON.stringify([status, waiting.map(({ id }) => id), calls.map(({ id }) => id)]);

/** A latch that events open. */
const createWaker = () => {
  let isOpen = false;
  let open = (): void => {};
  return {
    wake(): void {
      isOpen = true;
      open();
    },
    async wait(): Promise<void> {
      if (!isOpen) await new Promise<void>((resolve) => (open = resolve));
      isOpen = false;
    },
  };
};

/** One reader of one turn: what it knows, and what it has to read again. */
const createFollower = (
  { store, approvals, followSession, clock }: ReaderNeeds,
  { facts: known, after, isFresh }: Following,
) => {
  const { owner, id, sessionID, promptID } = known.turn;
  const waker = createWaker();
  const firstStep = stepOf(after);
  const steps = createKnownSteps(promptID, firstStep);
  let facts = known;
  let needsSteps = !isFresh;
  let needsFacts = !isFresh;
  let isGone = false;
  let cancelGap: (() => void) | undefined;
  /** Events that come before the steps are read, and while they are: what was read may be older. */
  let held: AgentEvent[] | undefined = isFresh ? undefined : [];
  const readSoon = (): void => {
    cancelGap ??= clock.after(GAP_MS, () => {
      cancelGap = undefined;
      needsSteps = true;
      waker.wake();
    });
  };
  const isRunningTask = (): boolean =>
    steps.last()?.parts.some((part) => part.type === 'tool' && part.state.status === 'running') === true;
  const takeStepEvent = (event: AgentEvent): void => {
    if (held !== undefined) {
      held.push(event);
      return;
    }
    const change = steps.take(event);
    if (change === 'none') return;
    if (change === 'gap') {
      readSoon();
      return;
    }
    // A run that has stored a step has begun.
    if (facts.answer === 'owed') facts = { ...facts, answer: 'begun' };
    if (change === 'reread') needsSteps = true;
    if (change === 'completed') needsFacts = true;
    waker.wake();
  };
  const takeEvent = (event: AgentEvent): void => {
    switch (event.type) {
      case 'permission.asked':
      case 'permission.replied':
        if (event.properties.sessionID !== sessionID && !isRunningTask()) return;
        needsFacts = true;
        waker.wake();
        break;
      case 'session.deleted':
        isGone = true;
        waker.wake();
        break;
      default:
        takeStepEvent(event);
    }
  };
  const unfollow = followSession(sessionID, takeEvent);
  const readAll = async (): Promise<void> => {
    needsSteps = false;
    held ??= [];
    const during = held;
    steps.load(await readSteps(store, facts.turn, firstStep));
    held = undefined;
    for (const event of during) takeStepEvent(event);
  };
  const refresh = async (): Promise<void> => {
    if (needsFacts) {
      needsFacts = false;
      facts = await readFacts({ store, approvals }, await requireTurn(store, owner, id));
      const last = facts.last?.info;
      const lastKnown = steps.last()?.info;
      // Its events have not arrived yet.
      const isBehind = lastKnown?.id !== last?.id || lastKnown?.time.completed !== last?.time.completed;
      if (isBehind && !isOpenStatus(statusOf(facts))) needsSteps = true;
    }
    if (needsSteps) await readAll();
  };
  return {
    waker,
    refresh,
    facts: () => facts,
    isGone: () => isGone,
    entriesAfter: (position: number) => steps.entriesAfter(position, facts.turn.until),
    view: (position: number): ShownTurn => ({
      ...toShownTurn(facts),
      position: Math.max(position, outputPosition(facts)),
    }),
    /** Whether no more of it is to come. */
    isOver: () => !needsFacts && !needsSteps && !isOpenStatus(statusOf(facts)),
    end(): void {
      unfollow();
      cancelGap?.();
    },
  };
};

/**
 * Sends the output of a turn, stored and live, with its state whenever that changes, until the turn has ended, the reader leaves or
 * the server stops. It has subscribed when it returns.
 */
export const followTurn = async (
  needs: ReaderNeeds,
  following: Following,
  { send, left }: { readonly send: SendSse; readonly left: AbortSignal },
): Promise<ReaderEnd> => {
  const { ending } = needs;
  const follower = createFollower(needs, following);
  const { waker } = follower;
  const event = async (name: string, data: unknown, id?: string): Promise<void> =>
    send({ event: name, data: JSON.stringify(data), ...(id === undefined ? {} : { id }) });
  for (const signal of [left, ending]) signal.addEventListener('abort', waker.wake, { once: true });
  try {
    let position = following.after;
    let facts = follower.facts();
    let shown = shownOf(follower.view(position));
    await event('turn', following.first);
    for (;;) {
      if (left.aborted) return 'left';
      if (ending.aborted) {
        await event('stopping', {});
        return 'stopped';
      }
      if (follower.isGone()) return 'over';
      await follower.refresh();
      const entries = follower.entriesAfter(position);
      const last = entries.at(-1);
      if (last !== undefined) {
        position = last.position;
        await event('entries', entries, String(position));
      }
      if (follower.isOver()) {
        await event('end', follower.view(position));
        return 'over';
      }
      if (facts !== follower.facts()) {
        facts = follower.facts();
        const view = follower.view(position);
        if (shownOf(view) !== shown) await event('turn', view);
        shown = shownOf(view);
      }
      await waker.wait();
    }
  } catch (error) {
    if (isRefusal(error, 'turn_not_found')) return 'over';
    throw error;
  } finally {
    follower.end();
    for (const signal of [left, ending]) signal.removeEventListener('abort', waker.wake);
  }
};
