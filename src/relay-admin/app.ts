import type { Clock } from '../core/clock.ts';
import { Fault } from '../core/fault.ts';
import type { HttpClient } from '../core/http/client.ts';
import type { Log } from '../core/log.ts';
import { createSemaphore, type Semaphore } from '../core/semaphore.ts';
import { sentenceOf, wordsFor } from './error-text.ts';
import { Problem, type ProblemDetail } from './errors.ts';
import { createJournal, type JournalFile } from './recharge/journal.ts';

import { createPreviewTokens } from './recharge/preview-token.ts';
import { createRelay, type Relay } from './relay/client.ts';
import type { RelayConfig } from './settings.ts';
import { type PublishedTool, type Structured, type Tool, withinTime } from './tool.ts';

import { createDescribe } from './tools/describe.ts';
import { createFindUser } from './tools/find-user.ts';
import { createHealth } from './tools/health.ts';
import { createModelControlOptions } from './tools/model-control-options.ts';
import { createPreviewRecharge } from './tools/preview-recharge.ts';
import { createRead } from './tools/read.ts';
import { createRechargeTool } from './tools/recharge.ts';
import { createSetAccountSchedulable } from './tools/set-account-schedulable.ts';
import { createUpdateUserLimits } from './tools/update-user-limits.ts';

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
  | { readonly kind: 'done'; readonly result: Structured }
  | { readonly kind: 'failed'; readonly text: string }
  | { readonly kind: 'no-such-tool' };

/** The nine tools as one thing: what to list, and the one way to call them. */
export type RelayAdmin = {
  readonly tools: readonly PublishedTool[];
  /** Never rejects. */
  readonly call: (name: string, given: unknown, signal: AbortSignal) => Promise<ToolAnswer>;
  /** Settles when no change is under way any more. */
  readonly settled: () => Promise<void>;
};

/** Calls to the relay at a time, and how many more may wait: 8 answers of 4 MiB each are what memory has to hold. */
const CALLS_AT_A_TIME = 8;
const CALLS_WAITING = 2000;
/** Changes at a time, over all tools, users and accounts. */
const CHANGES_AT_A_TIME = 16;

const detailOf = (error: unknown): ProblemDetail => {
  if (error instanceof Problem) return error.detail;
  if (error instanceof Fault && error.detail.kind === 'backend-timeout') return { kind: 'deadline' };
  if (error instanceof Fault && error.detail.kind === 'client-left') return { kind: 'cancelled' };
  return { kind: 'bug', outcome: 'unknown' };
};

/** Puts the tools together. Building them does no I/O. */
export const createRelayAdmin = (needs: RelayAdminNeeds): RelayAdmin => {
  const { config, httpClient, clock, log, version } = needs;
  const { address, key } = config;
  const relayOver = (gate: Semaphore): Relay => createRelay({ address, key, httpClient, clock, version, gate });
  const relay = relayOver(createSemaphore(CALLS_AT_A_TIME, CALLS_WAITING));
  // What is read around a change does not wait behind other reads.
  const changing = relayOver(createSemaphore(CALLS_AT_A_TIME, CALLS_WAITING));
  const changes = createSemaphore(CHANGES_AT_A_TIME, CALLS_WAITING);
  const journal = createJournal(needs.journalFile, needs.newId);
  const tokens = createPreviewTokens({ ...needs, address, key, journal });
  const tools: readonly Tool[] = [
    createDescribe({ config, version }),
    createHealth({ relay, clock }),
    createRead({ relay }),
    createFindUser({ relay }),
    createPreviewRecharge({ ...config, relay: changing, journal, tokens, clock }),
    createRechargeTool({ ...needs, ...config, relay: changing, journal, tokens, changes }),
    createUpdateUserLimits({ relay: changing, journal, clock, log, changes }),
    createSetAccountSchedulable({ relay: changing, journal, clock, log, changes }),
    createModelControlOptions({ relay, hasKey: key.kind === 'present' }),
  ];
  const underWay = new Set<Promise<unknown>>();

  const run = async (tool: Tool, given: unknown, signal: AbortSignal): Promise<ToolAnswer> => {
    if (tool.isWriter && config.isReadOnly)
      return { kind: 'failed', text: sentenceOf(wordsFor({ kind: 'read-only' })) };
    const startedAt = clock.now();
    const account = (level: 'info' | 'warn' | 'error', reason?: string) =>
      log(level, 'tool-called', {
        tool: tool.name,
        durationMs: clock.now() - startedAt,
        ...(reason === undefined ? {} : { reason }),
      });
    try {
      const result = await withinTime(clock, { limitMs: config.timeoutMs, signal }, (call) => tool.call(given, call));
      account('info');
      return { kind: 'done', result };
    } catch (error) {
      const detail = detailOf(error);
      const words = wordsFor(detail.kind === 'bug' && !tool.isWriter ? { ...detail, outcome: 'not_applied' } : detail);
      account(detail.kind === 'bug' ? 'error' : 'warn', words.code);
      return { kind: 'failed', text: sentenceOf(words) };
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
    async settled() {
      await Promise.all(underWay);
    },
  };
};
