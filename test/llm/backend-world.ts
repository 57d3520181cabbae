import { createDeadline } from '../../src/core/async.ts';
import { Fault } from '../../src/core/fault.ts';
import { createBreaker, createUpstream } from '../../src/llm/breaker.ts';
import { createFixedDialect, type DialectChoice } from '../../src/llm/detect.ts';
import type { LlmFault } from '../../src/llm/errors.ts';
import { type AttemptRecord, createFailover } from '../../src/llm/failover.ts';
import { createKeyPool } from '../../src/llm/key-pool.ts';
import type { BackendKey, KeyChange } from '../../src/llm/key-state.ts';
import { ollama } from '../../src/llm/ollama.ts';

import { createFakeClock } from '../fake-clock.ts';
import {
  type Answer,
  BASE_URL,
  CALL,
  CANARY,
  createScriptedExchange,
  ollamaAnswer,
  type Script,
} from './scripted-client.ts';

const DEADLINE_MS = 25_000;

export const GOOD: Answer = { text: ollamaAnswer() };
/** An answer with a status whose body, like a real one's, names things that are nobody's business. */
export const failing = (status: number, text = `{"error":"${CANARY}"}`, headers: Answer['headers'] = {}): Answer => ({
  status,
  text,
  headers: { 'x-account': CANARY, ...headers },
});

export const keyOf = (name: string): BackendKey => ({ secret: `secret-${name}`, fingerprint: name });

type WorldNeeds = {
  /** One letter per key. */
  readonly keys?: string;
  readonly script: Script;
  readonly dialect?: DialectChoice;
};

/** Keys, failover, breaker and upstream over a scripted backend and a clock that stands still. */
export const createBackendWorld = ({ keys = 'a', script, dialect = createFixedDialect(ollama) }: WorldNeeds) => {
  const clock = createFakeClock();
  const { httpClient, calls } = createScriptedExchange(script);
  const facts: AttemptRecord[] = [];
  const changes: KeyChange[] = [];
  const owned = [...keys].map(keyOf);
  const pool = createKeyPool(owned, clock.now, (change) => changes.push(change));
  const attemptNeeds = { baseUrl: BASE_URL, dialect, httpClient, clock };
  const failover = createFailover({ ...attemptNeeds, clock, pool, onAttempt: (fact) => facts.push(fact) });
  const breaker = createBreaker(clock.now, { failures: 5, coolDownMs: 2_000, maxCoolDownMs: 30_000 });
  const upstream = createUpstream(failover, breaker, clock);
  const within =
    <Result>(question: typeof failover | typeof upstream) =>
    async (limitMs = DEADLINE_MS, client?: AbortSignal, avoid?: BackendKey): Promise<Result> => {
      const deadline = createDeadline(clock, limitMs, client);
      try {
        return (await question(CALL, deadline, avoid)) as Result;
      } finally {
        deadline.clear();
      }
    };
  return {
    clock,
    calls,
    facts,
    changes,
    pool,
    breaker,
    attemptNeeds,
    key: (name: string) => owned.find(({ fingerprint }) => fingerprint === name)!,
    ask: within<Awaited<ReturnType<typeof failover>>>(failover),
    askUpstream: within<Awaited<ReturnType<typeof upstream>>>(upstream),
    /** The keys of the calls so far, in their order. */
    order: () => calls.map(({ key }) => key?.replace('secret-', '') ?? '-').join(''),
    ends: () => calls.map(({ end }) => end),
    /** The states of the keys, for the model that the calls are for. */
    states: () => pool.statuses(CALL.model).map(({ state }) => state),
    /** Everything that leaves this layer by the side, as text. */
    traces: () => JSON.stringify([facts, changes, pool.statuses(), breaker.status()]),
  };
};

/** What a `Fault` says; anything else fails. */
export const detailOf = (thrown: unknown): LlmFault => {
  if (thrown instanceof Fault) return thrown.detail;
  throw new Error(`Expected a fault, got ${String(thrown)}`);
};
