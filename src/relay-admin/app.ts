import type { Clock } from '../core/clock.ts';
import { Fault } from '../core/fault.ts';
import type { HttpClient } from '../core/http/client.ts';
import { isRecord, parseJsonValue } from '../core/json.ts';
import type { Log } from '../core/log.ts';
import { REDACTED } from '../core/redact.ts';
import { createSemaphore, type Semaphore } from '../core/semaphore.ts';
import { withCallDeadline } from './call-deadline.ts';
import { errorTextFor } from './errors/error-text.ts';
import { RelayError, type RelayErrorDetail } from './errors/errors.ts';
import { formatErrorText } from './errors/format.ts';
import { createJournal, type JournalFile } from './recharge/journal.ts';
import { createPreviewTokens } from './recharge/preview-token.ts';
import { createRelayClient, type RelayClient } from './relay/client.ts';
import { readKeyRights } from './relay/key-rights.ts';
import type { RelayConfig } from './settings.ts';
import type { PublishedTool, Tool, ToolResult } from './tool.ts';

import { createDescribeTool } from './tools/describe.ts';
import { createFindUserTool } from './tools/find-user.ts';
import { createHealthTool } from './tools/health.ts';
import { createModelControlOptionsTool } from './tools/model-control-options.ts';
import { createPreviewRechargeTool } from './tools/preview-recharge.ts';
import { createReadTool } from './tools/read.ts';
import { createRechargeTool } from './tools/recharge.ts';
import { createSetAccountSchedulableTool } from './tools/set-account-schedulable.ts';
import { createUpdateUserLimitsTool } from './tools/update-user-limits.ts';

type RelayAdminNeeds = {
  readonly config: RelayConfig;
  readonly httpClient: HttpClient;
  readonly clock: Clock;
  readonly journalFile: JournalFile;
  /** SHA-256 in hexadecimal digits. */
  readonly digest: (text: string) => Promise<string>;
  /** HMAC-SHA-256 in base64url. */
  readonly mac: (secret: string, text: string) => Promise<string>;
  readonly newId: () => string;
  readonly log: Log;
  readonly version: string;
};

export type ToolAnswer =
  | { readonly kind: 'done'; readonly result: ToolResult }
  | { readonly kind: 'failed'; readonly text: string }
  | { readonly kind: 'no-such-tool' };

/** The nine tools: the published list, and the function that calls one of them. */
export type RelayAdmin = {
  readonly tools: readonly PublishedTool[];
  /** Never rejects. */
  readonly call: (name: string, given: unknown, signal: AbortSignal) => Promise<ToolAnswer>;
  /** Asks the relay what the admin key may read, and logs it. Never rejects. */
  readonly askKeyRights: () => Promise<void>;
  /** Resolves when no change is running any more. */
  readonly whenIdle: () => Promise<void>;
};

/** Concurrent calls to the relay: memory has to hold 8 answers of 4 MiB each. */
const CONCURRENT_CALLS = 8;
/** How many more may wait. */
const QUEUED_CALLS = 2000;
/** Concurrent changes over all tools, users and accounts. */
const CONCURRENT_CHANGES = 16;

const toErrorDetail = (error: unknown): RelayErrorDetail => {
  if (error instanceof RelayError) return error.detail;
  if (error instanceof Fault && error.detail.kind === 'backend-timeout') return { kind: 'deadline' };
  if (error instanceof Fault && error.detail.kind === 'client-left') return { kind: 'cancelled' };
  return { kind: 'bug', outcome: 'unknown' };
};

/** Creates the tools. Does no I/O. */
export const createRelayAdmin = (needs: RelayAdminNeeds): RelayAdmin => {
  const { config, httpClient, clock, digest, mac, newId, log, version } = needs;
  const { address, key, largestRecharge, isReadOnly } = config;
  const createClient = (gate: Semaphore): RelayClient =>
    createRelayClient({ address, key, httpClient, clock, version, gate });
  const relay = createClient(createSemaphore(CONCURRENT_CALLS, QUEUED_CALLS));
  // Reads that belong to a change have slots of their own: they do not wait behind other reads.
  const changeRelay = createClient(createSemaphore(CONCURRENT_CALLS, QUEUED_CALLS));
  const changes = createSemaphore(CONCURRENT_CHANGES, QUEUED_CALLS);
  const journal = createJournal(needs.journalFile, newId);
  const tokens = createPreviewTokens({ address, key, journal, clock, digest, mac, newId });
  const tools: readonly Tool[] = [
    createDescribeTool({ config, version }),
    createHealthTool({ relay, clock }),
    createReadTool({ relay }),
    createFindUserTool({ relay }),
    createPreviewRechargeTool({ relay: changeRelay, journal, tokens, clock, largestRecharge, isReadOnly }),
    createRechargeTool({ relay: changeRelay, journal, tokens, changes, clock, digest, log, largestRecharge }),
    createUpdateUserLimitsTool({ relay: changeRelay, journal, clock, log, changes }),
    createSetAccountSchedulableTool({ relay: changeRelay, journal, clock, log, changes }),
    createModelControlOptionsTool({ relay, hasKey: key.kind === 'present' }),
  ];
  /** A key may have any form, so what no result may hold is its very text. */
  const withoutKey = (result: ToolResult): ToolResult => {
    const text = JSON.stringify(result);
    if (key.kind !== 'present' || !text.includes(key.secret)) return result;
    const shown = parseJsonValue(text.replaceAll(key.secret, REDACTED));
    return isRecord(shown) ? shown : {};
  };
  const pendingChanges = new Set<Promise<unknown>>();

  const run = async (tool: Tool, given: unknown, signal: AbortSignal): Promise<ToolAnswer> => {
    if (tool.isWriter && isReadOnly)
      return { kind: 'failed', text: formatErrorText(errorTextFor({ kind: 'read-only' })) };
    const startedAt = clock.now();
    const logCall = (level: 'info' | 'warn' | 'error', reason?: string) =>
      log(level, 'tool-called', {
        tool: tool.name,
        durationMs: clock.now() - startedAt,
        ...(reason === undefined ? {} : { reason }),
      });
    try {
      const result = await withCallDeadline(clock, { limitMs: config.timeoutMs, signal }, (call) =>
        tool.call(given, call),
      );
      logCall('info');
      return { kind: 'done', result: withoutKey(result) };
    } catch (error) {
      const detail = toErrorDetail(error);
      const text = errorTextFor(
        detail.kind === 'bug' && !tool.isWriter ? { ...detail, outcome: 'not_applied' } : detail,
      );
      logCall(detail.kind === 'bug' ? 'error' : 'warn', text.code);
      return { kind: 'failed', text: formatErrorText(text) };
    }
  };

  return {
    tools: tools.filter(({ isWriter }) => !(isWriter && isReadOnly)).map(({ published }) => published),
    async call(name, given, signal) {
      const tool = tools.find((candidate) => candidate.name === name);
      if (tool === undefined) return { kind: 'no-such-tool' };
      const answer = run(tool, given, signal);
      if (tool.isWriter) {
        pendingChanges.add(answer);
        void answer.finally(() => pendingChanges.delete(answer));
      }
      return answer;
    },
    async askKeyRights() {
      if (key.kind !== 'present') return;
      const rights = await readKeyRights(relay, clock, config.timeoutMs);
      const level = rights.state === 'refused' ? 'warn' : 'info';
      log(level, 'admin-key', rights);
    },
    async whenIdle() {
      await Promise.all(pendingChanges);
    },
  };
};
