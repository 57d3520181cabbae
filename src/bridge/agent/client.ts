import * as v from 'valibot';
import type { CallAgent } from './calls.ts';
import { ConfigRecord, ProvidersRecord, toAgentModels } from './models.ts';
import type { AgentClient } from './types.ts';

/** The agent server, ours or another with the API of OpenCode 1.x. */
export const createAgentClient = (call: CallAgent): AgentClient => ({
  async models(signal) {
    const [providers, config] = await Promise.all([
      call({ method: 'GET', path: '/config/providers', schema: ProvidersRecord }, signal),
      call({ method: 'GET', path: '/config', schema: ConfigRecord }, signal),
    ]);
    return toAgentModels(providers, config);
  },
  async check(signal) {
    await call({ method: 'GET', path: '/session/status', schema: v.record(v.string(), v.unknown()) }, signal);
  },
});
