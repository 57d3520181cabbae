import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import { isBridgeFault, toAnswerFailure } from '../errors.ts';
import type { AgentClient } from './types.ts';

/** Whether the agent server answers, as far as that was last seen. */
export type AgentHealth = {
  /** Why it does not; undefined where it does. Asks it at most once in five seconds. */
  readonly check: () => Promise<string | undefined>;
  /** What the last check found. Begins another one where that is old, and waits for none. */
  readonly isConnected: () => boolean;
};

const CHECK_EVERY_MS = 5000;

const reasonOf = (error: unknown): string => (isBridgeFault(error) ? toAnswerFailure(error.detail).code : 'bug');

/** Asks the agent server when somebody wants to know. The log has each change, and each reason once. */
export const createAgentHealth = (agent: Pick<AgentClient, 'check'>, clock: Clock, log: Log): AgentHealth => {
  let last: { readonly until: number; readonly reason: Promise<string | undefined> } | undefined;
  let known: string | undefined = 'not asked yet';
  const note = (reason: string | undefined): void => {
    if (reason === undefined && known !== undefined) log('info', 'agent-connected');
    else if (reason !== undefined && reason !== known) log('warn', 'agent-lost', { reason });
    known = reason;
  };
  const ask = async (): Promise<string | undefined> => {
    const reason = await agent.check(new AbortController().signal).then(() => undefined, reasonOf);
    note(reason);
    return reason;
  };
  const check = (): Promise<string | undefined> => {
    if (last === undefined || clock.now() >= last.until) last = { until: clock.now() + CHECK_EVERY_MS, reason: ask() };
    return last.reason;
  };
  return {
    check,
    isConnected() {
      void check();
      return known === undefined;
    },
  };
};
