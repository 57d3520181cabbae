import type { AgentClient, AgentModels } from '../../../src/bridge/agent/types.ts';
import type { BridgeFault } from '../../../src/bridge/errors.ts';
import { Fault } from '../../../src/core/fault.ts';

/** What is thrown where nobody answers. */
export const UNREACHED: BridgeFault = { kind: 'backend-error', reason: 'The agent server cannot be reached' };

const SMALL: AgentModels = {
  models: [
    {
      providerID: 'acme',
      modelID: 'small',
      name: 'Small',
      contextTokens: 0,
      variants: [],
      adapter: undefined,
      media: [],
    },
  ],
  defaultModel: 'acme/small',
  smallModel: undefined,
};

/** An agent server that answers at once, unless it is told to fail so many times. */
export const createFakeClient = () => {
  const counts = { models: 0, check: 0 };
  const failures: { -readonly [name in keyof typeof counts]?: { detail: BridgeFault; times: number } } = {};
  const state = { models: SMALL };
  const called = (name: keyof typeof counts): void => {
    counts[name] += 1;
    const failure = failures[name];
    if (failure === undefined || failure.times === 0) return;
    failure.times -= 1;
    throw new Fault(failure.detail);
  };
  const agent: AgentClient = {
    async models() {
      called('models');
      return state.models;
    },
    async check() {
      called('check');
    },
  };
  return {
    agent,
    state,
    calls: (name: keyof typeof counts): number => counts[name],
    failNext(name: keyof typeof counts, detail: BridgeFault, times = 1): void {
      failures[name] = { detail, times };
    },
  };
};
