import * as v from 'valibot';
import { pause } from '../../core/async.ts';
import type { Clock } from '../../core/clock.ts';
import type { OpenHttpStream } from '../../core/http/client.ts';
import { readEventConnection } from '../../core/http/event-connection.ts';
import type { Log } from '../../core/log.ts';
import { isConsoleFault } from '../errors.ts';
import type { ServiceState } from '../protocol.ts';
import { fitting } from '../services/fitting.ts';
import type { ServiceClient } from '../services/service-client.ts';
import { RequestRecord, StandingRecord } from './records.ts';

/** What a session's listing shows of it beside its request. */
export type SessionFacts = { readonly title: string; readonly parentID?: string };

/** The open permission requests of one agent server, as it was last asked. */
export type AgentRequests = {
  readonly open: () => readonly RequestRecord[];
  /** What was allowed with `always` and still is; nothing at OpenCode's own server, which does not tell. */
  readonly standing: () => readonly StandingRecord[];
  readonly session: (id: string) => SessionFacts | undefined;
  readonly state: () => ServiceState;
  /** Asks the server now. Never rejects. */
  readonly refresh: () => Promise<void>;
  /** Begins to ask. */
  readonly start: () => void;
  readonly stop: () => void;
};

type AgentRequestsNeeds = {
  readonly client: ServiceClient;
  readonly stream: OpenHttpStream;
  readonly clock: Clock;
  readonly log: Log;
  readonly digest: (text: string) => string;
  /** The open requests or the state of the server have changed. */
  readonly onChange: () => void;
};

/** Events say when to ask; this is for those that were missed, and for a server that has none. */
const ASK_EVERY_MS = 5000;
const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 15_000;
const REQUESTS_LIMIT = 5000;
const REQUESTS_LIMIT_BYTES = 32 * 1024 * 1024;
const SESSION_LIMIT_BYTES = 4 * 1024 * 1024;
const TITLES_AT_ONCE = 8;
const RULES_LIMIT = 1000;
/** OpenCode's own server passes what it does not know on to a host of its own. */
const ASK_FOR_RULES_AGAIN_MS = 60_000;

const SessionRecord = v.object({ title: v.string(), parentID: v.optional(v.string()) });

const reasonOf = (error: unknown): string => {
  if (!isConsoleFault(error)) return error instanceof Error ? error.name : 'unknown';
  const { detail } = error;
  if (detail.kind === 'service-down') return detail.reason;
  return detail.kind === 'service-refused' ? `status ${detail.status}` : detail.kind;
};

/** Follows one agent server: its events say when its list of open requests is to be read again. */
export const createAgentRequests = (needs: AgentRequestsNeeds): AgentRequests => {
  const { client, stream, clock, log, digest, onChange } = needs;
  const stopping = new AbortController();
  const sessions = new Map<string, SessionFacts>();
  let open: readonly RequestRecord[] = [];
  let standing: readonly StandingRecord[] = [];
  let rulesFrom = 0;
  let seen = '';
  let state: ServiceState = {
    part: 'agent',
    address: client.address,
    state: 'down',
    since: clock.now(),
    reason: 'starting',
  };

  const setState = (next: ServiceState['state'], reason?: string): boolean => {
    if (state.state === next && state.reason === reason) return false;
    const since = state.state === next ? state.since : clock.now();
    // Also the first failure, and another reason: a server that was never reached is no less lost.
    log(next === 'up' ? 'info' : 'warn', next === 'up' ? 'agent-reached' : 'agent-lost', {
      address: client.address,
      ...(reason === undefined ? {} : { reason }),
    });
    const { reason: _, ...rest } = state;
    state = { ...rest, state: next, since, ...(reason === undefined ? {} : { reason }) };
    return true;
  };
  const readSession = async (id: string): Promise<void> => {
    const { value } = await client.ask(
      { method: 'GET', path: `/session/${id}`, limitBytes: SESSION_LIMIT_BYTES },
      stopping.signal,
    );
    const result = v.safeParse(SessionRecord, value);
    if (result.success) {
      const { title, parentID } = result.output;
      sessions.set(id, { title, ...(parentID === undefined ? {} : { parentID }) });
    }
  };
  /** A title is worth waiting for, and no reason to show no request. */
  const readSessions = async (ids: readonly string[]): Promise<void> => {
    for (const id of sessions.keys()) if (!ids.includes(id)) sessions.delete(id);
    const wanted = ids.filter((id) => !sessions.has(id)).slice(0, TITLES_AT_ONCE);
    await Promise.all(wanted.map((id) => readSession(id).catch(() => {})));
  };
  /** Those that were read before stay where they cannot be read now: a rule that is not shown could not be revoked. */
  const readRules = async (): Promise<void> => {
    if (clock.now() < rulesFrom) return;
    try {
      const { value } = await client.ask({ method: 'GET', path: '/permission/standing' }, stopping.signal);
      standing = fitting(StandingRecord, value, RULES_LIMIT);
    } catch {
      rulesFrom = clock.now() + ASK_FOR_RULES_AGAIN_MS;
    }
  };
  const readOnce = async (): Promise<void> => {
    let hasChanged: boolean;
    try {
      const [{ value, text }] = await Promise.all([
        client.ask({ method: 'GET', path: '/permission', limitBytes: REQUESTS_LIMIT_BYTES }, stopping.signal),
        readRules(),
      ]);
      const found = fitting(RequestRecord, value, REQUESTS_LIMIT);
      // Our own agent server says the title with the request.
      const untitled = found.flatMap(({ title, sessionID }) => (title === undefined ? [sessionID] : []));
      await readSessions([...new Set(untitled)]);
      // Not the text itself: it may be megabytes.
      const nowSeen = digest(
        `${text}${JSON.stringify(standing)}${[...sessions.values()].map(({ title }) => title).join('\n')}`,
      );
      const isNew = nowSeen !== seen;
      [open, seen] = [found, nowSeen];
      hasChanged = setState('up') || isNew;
    } catch (error) {
      if (stopping.signal.aborted) return;
      const hadSome = open.length > 0;
      // Nothing can be decided there now, and another server of the same store may still list them.
      [open, standing, seen] = [[], [], ''];
      hasChanged = setState('down', reasonOf(error)) || hadSome;
    }
    if (hasChanged) onChange();
  };

  let running: Promise<void> | undefined;
  let isAskedAgain = false;
  const readUntilNew = async (): Promise<void> => {
    try {
      do {
        isAskedAgain = false;
        await readOnce();
      } while (isAskedAgain && !stopping.signal.aborted);
    } catch (error) {
      log('error', 'bug', { reason: error instanceof Error ? error.name : typeof error });
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
    if (stopping.signal.aborted) cancelAsking();
  };
  const follow = async (): Promise<void> => {
    for (let failures = 0; !stopping.signal.aborted; failures++) {
      let isOpen = false;
      const end = await readEventConnection(
        {
          stream,
          clock,
          url: `${client.address}/global/event`,
          headers: client.headers,
          lastID: '',
          onItem(item) {
            // Events of other kinds come by the thousand, and are not parsed.
            if (!isOpen || item.kind === 'too-long' || item.data.includes('"permission.')) void refresh();
            isOpen = true;
            return stopping.signal.aborted ? 'over' : 'open';
          },
        },
        stopping.signal,
      ).catch(() => ({ retryMs: 0 }));
      if (isOpen) failures = 0;
      const delayMs = Math.max(end.retryMs, Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** failures));
      const ms = Math.min(LONGEST_DELAY_MS, delayMs);
      await pause(clock, ms, stopping.signal).catch(() => {});
    }
  };
  return {
    open: () => open,
    standing: () => standing,
    session: (id) => sessions.get(id),
    state: () => state,
    refresh,
    start() {
      void refresh().then(askAgain);
      void follow();
    },
    stop() {
      stopping.abort();
      cancelAsking();
    },
  };
};
