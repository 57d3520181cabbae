import type { Clock } from '../core/clock.ts';
import { Fault } from '../core/fault.ts';
import type { HttpClient } from '../core/http/client.ts';
import type { Log } from '../core/log.ts';
import { createSemaphore, type Semaphore } from '../core/semaphore.ts';
import { withCallDeadline } from './call-deadline.ts';
import { errorTextFor } from './errors/error-text.ts';
import { RelayError, type RelayErrorDetail } from './errors/errors.ts';
import { formatErrorText } from './errors/format.ts';
import { createJournal, type JournalFile } from './recharge/journal.ts';
import { createPreviewTokens } from './recharge/preview-token.ts';
import { createRelayClient, type RelayClient } from './relay/client.ts';
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

export type RelayAdminNeeds = {
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

/** The nine tools as one thing: what to list, and the one way to call them. */
export type RelayAdmin = {
  readonly tools: readonly PublishedTool[];
  /** Never rejects. */
  readonly call: (name: string, given: unknown, signal: AbortSignal) => Promise<ToolAnswer>;
  /** Settles when no change is under way any more. */
  readonly whenIdle: () => Promise<void>;
};

/** Calls to the relay at a time, and how many more may wait: 8 answers of 4 MiB each are what memory has to hold. */
const CONCURRENT_CALLS = 8;
const QUEUED_CALLS = 2000;
/** Changes at a time, over all tools, users and accounts. */
const CONCURRENT_CHANGES = 16;

const toErrorDetail = (error: unknown): RelayErrorDetail => {
  if (error instanceof RelayError) return error.detail;
  if (error instanceof Fault && error.detail.kind === 'backend-timeout') return { kind: 'deadline' };
  if (error instanceof Fault && error.detail.kind === 'client-left') return { kind: 'cancelled' };
  return { kind: 'bug', outcome: 'unknown' };
};

/** Puts the tools together. Building them does no I/O. */
export const createRelayAdmin = (needs: RelayAdminNeeds): RelayAdmin => {
  const { config, httpClient, clock, log, version } = needs;
  const { address, key } = config;
  const relayOver = (gate: Semaphore): RelayClient =>
    createRelayClient({ address, key, httpClient, clock, version, gate });
  const relay = relayOver(createSemaphore(CONCURRENT_CALLS, QUEUED_CALLS));
  // What is read around a change does not wait behind other reads.
  const changing = relayOver(createSemaphore(CONCURRENT_CALLS, QUEUED_CALLS));
  const changes = createSemaphore(CONCURRENT_CHANGES, QUEUED_CALLS);
  const journal = createJournal(needs.journalFile, needs.newId);
  const tokens = createPreviewTokens({ ...needs, address, key, journal });
  const tools: readonly Tool[] = [
    createDescribeTool({ config, version }),
    createHealthTool({ relay, clock }),
    createReadTool({ relay }),
    createFindUserTool({ relay }),
    createPreviewRechargeTool({ ...config, relay: changing, journal, tokens, clock }),
    createRechargeTool({ ...needs, ...config, relay: changing, journal, tokens, changes }),
    createUpdateUserLimitsTool({ relay: changing, journal, clock, log, changes }),
    createSetAccountSchedulableTool({ relay: changing, journal, clock, log, changes }),
    createModelControlOptionsTool({ relay, hasKey: key.kind === 'present' }),
  ];
  const underWay = new Set<Promise<unknown>>();

  const run = async (tool: Tool, given: unknown, signal: AbortSignal): Promise<ToolAnswer> => {
    if (tool.isWriter && config.isReadOnly)
      return { kind: 'failed', text: formatErrorText(errorTextFor({ kind: 'read-only' })) };
    const startedAt = clock.now();
    const account = (level: 'info' | 'warn' | 'error', reason?: string) =>
      log(level, 'tool-called', {
        tool: tool.name,
        durationMs: clock.now() - startedAt,
        ...(reason === undefined ? {} : { reason }),
      });
    try {
      const result = await withCallDeadline(clock, { limitMs: config.timeoutMs, signal }, (call) =>
        tool.call(given, call),
      );
      account('info');
      return { kind: 'done', result };
    } catch (error) {
      const detail = toErrorDetail(error);
      const words = errorTextFor(
        detail.kind === 'bug' && !tool.isWriter ? { ...detail, outcome: 'not_applied' } : detail,
      );
      account(detail.kind === 'bug' ? 'error' : 'warn', words.code);
      return { kind: 'failed', text: formatErrorText(words) };
    }
  };

  return {
    tools: tools.filter(({ isWriter }) => !(isWriter && config.isReadOnly)).map(({ published }) => published),
    async call(name, given, signal) {
      const tool = tools.find((candidate) => candidate.name === name);
      if (tool === undefined) return { kind: 'no-such-tool' };
      const answer = run(tool, given, signal);
      if (tool.isWriter) {
        underWay.add(answer);
        void answer.finally(() => underWay.delete(answer));
      }
      return answer;
    },
    async whenIdle() {
      await Promise.all(underWay);
    },
  };
};
