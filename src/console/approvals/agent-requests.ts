import type { SseItem } from '../../core/http/sse-parser.ts';
import { bugLogger, isConsoleFault } from '../errors.ts';
import type { ServiceState } from '../protocol.ts';
import { fitting } from '../services/fitting.ts';
import type { ServiceClient } from '../services/service-client.ts';
import { createServiceState, type StateNeeds } from '../services/service-state.ts';
import { RequestRecord, StandingRecord } from './records.ts';

/** An agent server, and its open permission requests as it was last asked. */
export type AgentRequests = {
  readonly client: ServiceClient;
  readonly open: () => readonly RequestRecord[];
  /** What was allowed with `always` and still is. */
  readonly standing: () => readonly StandingRecord[];
  readonly state: () => ServiceState;
  /** Asks the server now. Never rejects. */
  readonly refresh: () => Promise<void>;
  /** Begins to ask. `onChange`: the requests or the state of the server have changed. */
  readonly start: (onChange: () => void) => void;
  readonly stop: () => void;
};

type AgentRequestsNeeds = StateNeeds & { readonly digest: (text: string) => string };

/** Events say when to ask; this is for those that were missed. */
const ASK_EVERY_MS = 5000;
const REQUESTS_LIMIT = 5000;
const REQUESTS_LIMIT_BYTES = 32 * 1024 * 1024;
const RULES_LIMIT = 1000;
/** Events of other kinds come by the thousand, and are not parsed. A connection begins with the second. */
const NEWS = /"permission\.|"server\.connected"/;

const reasonOf = (error: unknown): string => {
  if (!isConsoleFault(error)) return error instanceof Error ? error.name : 'unknown';
  const { detail } = error;
  if (detail.kind === 'service-down') return detail.reason;
  return detail.kind === 'service-refused' ? `status ${detail.status}` : detail.kind;
};

/** Follows one agent server: its events say when its list of open requests is to be read again. */
export const createAgentRequests = (client: ServiceClient, needs: AgentRequestsNeeds): AgentRequests => {
  const { clock, log, digest } = needs;
  const { get: state, set: setState } = createServiceState(client, needs);
  const stopping = new AbortController();
  const { signal } = stopping;
  let open: readonly RequestRecord[] = [];
  let standing: readonly StandingRecord[] = [];
  let seen = '';
  let notifyChange = (): void => {};
  /** Those that were read before stay where they cannot be read now: a rule that is not shown could not be revoked. */
  const readRules = async (): Promise<void> => {
    const answer = await client.ask({ method: 'GET', path: '/permission/standing' }, signal).catch(() => undefined);
    if (answer !== undefined) standing = fitting(StandingRecord, answer.value, RULES_LIMIT);
  };
  /** Returns whether anything has changed. */
  const readOnce = async (): Promise<boolean> => {
    try {
      const call = { method: 'GET', path: '/permission', limitBytes: REQUESTS_LIMIT_BYTES } as const;
      const [{ value, text }] = await Promise.all([client.ask(call, signal), readRules()]);
      // Not the text itself: it may be megabytes.
      const nowSeen = digest(`${text}${JSON.stringify(standing)}`);
      const isNew = nowSeen !== seen;
      [open, seen] = [fitting(RequestRecord, value, REQUESTS_LIMIT), nowSeen];
      return setState({ state: 'up' }) || isNew;
    } catch (error) {
      if (signal.aborted) return false;
      const hadSome = open.length > 0;
      // Nothing can be decided there now, and another server of the same store may still list them.
      [open, standing, seen] = [[], [], ''];
      return setState({ state: 'down', reason: reasonOf(error) }) || hadSome;
    }
  };

  let running: Promise<void> | undefined;
  let isAskedAgain = false;
  const readUntilNew = async (): Promise<void> => {
    try {
      do {
        isAskedAgain = false;
        if (await readOnce()) notifyChange();
      } while (isAskedAgain && !signal.aborted);
    } catch (error) {
      bugLogger(log)(error);
    } finally {
      running = undefined;
    }
  };
  const refresh = (): Promise<void> => {
    isAskedAgain = true;
    running ??= readUntilNew();
    return running;
  };

  let cancelAsking = (): void => {};
  const askAgain = (): void => {
    cancelAsking = clock.after(ASK_EVERY_MS, () => void refresh().then(askAgain));
    if (signal.aborted) cancelAsking();
  };
  return {
    client,
    open: () => open,
    standing: () => standing,
    state,
    refresh,
    start(onChange) {
      notifyChange = onChange;
      void refresh().then(askAgain);
      const onItem = (item: SseItem): void => {
        if (item.kind === 'too-long' || NEWS.test(item.data)) void refresh();
      };
      void client.follow({ path: '/global/event', resumes: false, onItem }, signal);
    },
    stop() {
      stopping.abort();
      cancelAsking();
    },
  };
};
