import { computed, signal } from '@preact/signals';
import type { ApprovalList, Decision, ServiceState } from '../../protocol.ts';
import { openEvents, type StreamState } from '../api/event-source.ts';
import type { FeedVerdict } from '../api/types.ts';
import { setFollowed, takeDecision, takeOpen } from './approvals.ts';
import { loadMe } from './visitor.ts';

/** Whether the page hears from the console. */
export const connection = signal<StreamState>('connecting');

/** The servers behind the console; nothing until they are known. */
export const services = signal<readonly ServiceState[] | undefined>(undefined);

/** The agent servers among them, in the order of the settings: an approval says the position of its own. */
export const agentServices = computed(() => (services.value ?? []).filter(({ part }) => part === 'agent'));

/** Rises when the gateway's keys have changed: a view that shows them loads them again. */
export const keyChanges = signal(0);

/** Rises when the page hears from the console again: what it has loaded may be old. */
export const returns = signal(0);

const verdictListeners = new Set<(verdicts: readonly FeedVerdict[]) => void>();

/** Calls `listener` with each batch of verdicts, at most ten times a second. Returns how to stop that. */
export const onVerdicts = (listener: (verdicts: readonly FeedVerdict[]) => void): (() => void) => {
  verdictListeners.add(listener);
  return () => verdictListeners.delete(listener);
};

// The console wrote these events from what it had parsed itself.
const listeners = {
  approvals: (data: unknown) => {
    setFollowed(true);
    takeOpen(data as ApprovalList);
  },
  decided: (data: unknown) => takeDecision(data as Decision),
  verdict: (data: unknown) => {
    for (const listener of verdictListeners) listener(data as readonly FeedVerdict[]);
  },
  keys: () => {
    keyChanges.value += 1;
  },
  services: (data: unknown) => {
    services.value = data as readonly ServiceState[];
  },
};

/** Opens the event stream of a visitor. Returns how to close it. */
export const startLive = (): (() => void) => {
  connection.value = 'connecting';
  const { close } = openEvents({
    path: '/api/events',
    listeners,
    onState: (state) => {
      // Until the list has come again.
      setFollowed(false);
      if (state === 'open' && connection.peek() === 'lost') returns.value += 1;
      connection.value = state;
    },
    mayRetry: async () => (await loadMe()).user !== null,
  });
  return () => {
    setFollowed(false);
    close();
  };
};
