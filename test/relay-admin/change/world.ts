import { Fault } from '../../../src/core/fault.ts';
import type { LogFields } from '../../../src/core/log.ts';
import { createSemaphore } from '../../../src/core/semaphore.ts';
import { withCallDeadline } from '../../../src/relay-admin/call-deadline.ts';
import type { ChangeNeeds, ChangeNote } from '../../../src/relay-admin/change/change.ts';
import type { ChangeQueueNeeds } from '../../../src/relay-admin/change/serialize.ts';
import { RelayError, type RelayErrorDetail } from '../../../src/relay-admin/errors/errors.ts';
import type { RelayClient, RelayQuery, Write } from '../../../src/relay-admin/relay/client.ts';
import type { UnknownReason, WriteAnswer } from '../../../src/relay-admin/relay/response.ts';
import type { Tool, ToolResult } from '../../../src/relay-admin/tool.ts';

import { rejection } from '../../check.ts';
import { createFakeClock } from '../../fake-clock.ts';

export const LIMIT_MS = 30_000;

export const ACCEPTED: WriteAnswer = { kind: 'accepted', data: undefined, isReplay: false };
const refused = (status: number): WriteAnswer => ({ kind: 'refused', status, isBeforeHandler: true });
export const unknown = (doubt: UnknownReason): WriteAnswer => ({ kind: 'unknown', reason: doubt });

export const DOUBTS: readonly UnknownReason[] = [
  'no-answer',
  'timed-out',
  'redirected',
  'server-error',
  'unusable-answer',
  'in-progress',
  'retry-backoff',
  'store-unavailable',
];

/** What each refusal is to the caller, for a change of a user or of an account. */
export const refusals = (what: 'user' | 'account'): readonly (readonly [WriteAnswer, RelayErrorDetail])[] => [
  [refused(0), { kind: 'upstream-unavailable', why: 'no connection' }],
  [refused(400), { kind: 'change-refused', status: 400 }],
  [refused(401), { kind: 'upstream-auth' }],
  [refused(403), { kind: 'upstream-forbidden' }],
  [refused(404), { kind: 'not-found', what }],
  [refused(409), { kind: 'change-refused', status: 409 }],
  [refused(413), { kind: 'change-refused', status: 413 }],
  [refused(423), { kind: 'terms-not-accepted' }],
  [refused(429), { kind: 'upstream-rate-limit', retryAfterMs: 10_000 }],
];

/** Failures of a read, as the relay port gives them. */
export const FAILED_READS: readonly (readonly [string, RelayError])[] = (
  [
    { kind: 'upstream-unavailable', why: 'status 502' },
    { kind: 'upstream-auth' },
    { kind: 'upstream-contract', why: 'not-json' },
    { kind: 'not-found', what: 'resource' },
  ] satisfies readonly RelayErrorDetail[]
).map((detail) => [detail.kind, new RelayError(detail)]);

/** A step of the script: a value, a failure, or something that happens meanwhile. */
type Step = unknown | RelayError | ((signal: AbortSignal) => unknown);

const play = async (step: Step, signal: AbortSignal): Promise<unknown> => {
  signal.throwIfAborted();
  const value = typeof step === 'function' ? await step(signal) : step;
  if (value instanceof Error) throw value;
  return value;
};

/** Waits until the signal ends, as something that never answers. */
export const never = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });

export type Script = {
  /** The records read by id, in order; the last one stays. */
  readonly reads?: readonly Step[];
  readonly answer?: WriteAnswer | ((signal: AbortSignal) => Promise<WriteAnswer>);
  /** What lists of accounts answer, by group. */
  readonly lists?: Readonly<Record<string, Step>>;
  readonly note?: (entry: ChangeNote) => Promise<void>;
};

/** A relay, a journal and a clock that do what the script says, and tell in order what was asked of them. */
export const createWorld = ({ reads = [], answer = ACCEPTED, lists = {}, note = async () => {} }: Script = {}) => {
  const clock = createFakeClock();
  const happened: string[] = [];
  const notes: ChangeNote[] = [];
  const sent: Write[] = [];
  const queries: RelayQuery[] = [];
  const lines: (readonly [string, string, LogFields | undefined])[] = [];
  const script = [...reads];
  const relay: RelayClient = {
    address: { origin: 'https://relay.example', host: 'relay.example' } as RelayClient['address'],
    async get(path, query, signal) {
      happened.push(`read ${path}${'group' in query ? ` of ${query.group}` : ''}`);
      queries.push(query);
      if (path === 'accounts') return play(lists[String(query.group)], signal);
      return play(script.length > 1 ? script.shift() : script[0], signal);
    },
    async send(write, signal) {
      happened.push(`send ${write.method} ${write.path} ${write.body}`);
      sent.push(write);
      return typeof answer === 'function' ? answer(signal) : answer;
    },
    health: () => Promise.reject(new Error('A change has no business with the health')),
  };
  const needs: ChangeNeeds & ChangeQueueNeeds = {
    relay,
    clock,
    changes: createSemaphore(16, 100),
    journal: {
      note(entry) {
        happened.push(`note ${entry.state}`);
        notes.push(entry);
        return note(entry);
      },
    },
    log: (level, event, fields) => void lines.push([level, event, fields]),
  };
  const call = (tool: Tool, given: unknown, signal = new AbortController().signal): Promise<ToolResult> =>
    withCallDeadline(clock, { limitMs: LIMIT_MS, signal }, (toolCall) => tool.call(given, toolCall));
  return { clock, needs, call, happened, notes, sent, queries, lines };
};

/** The problem that a call ends in; a reason of its signal counts by its kind. */
export const problemOf = async (promise: Promise<unknown>): Promise<RelayErrorDetail | string> => {
  const error = await rejection(promise);
  if (error instanceof RelayError) return error.detail;
  return error instanceof Fault ? error.detail.kind : String(error);
};

/** Whether everything that a model may fill in says what belongs there. */
export const undescribed = (schema: unknown, path = ''): readonly string[] => {
  const { properties = {} } = schema as { properties?: Record<string, { description?: string }> };
  return Object.entries(properties).flatMap(([name, part]) => [
    ...(part.description === undefined ? [`${path}${name}`] : []),
    ...undescribed(part, `${path}${name}.`),
  ]);
};
