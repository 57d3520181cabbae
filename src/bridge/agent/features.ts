import type { Clock } from '../../core/clock.ts';
import type { AgentClient } from './types.ts';

/** The name under which our agent server says that it takes tools of its clients. OpenCode has no features. */
const CLIENT_TOOLS = 'client-tools';
/** An agent gets features when it is started anew. */
const CACHE_MS = 30_000;

/** What the agent server can do beyond the API of OpenCode. */
export type AgentFeatures = {
  /** Whether its models may call functions that the client makes the calls of. */
  readonly takesClientTools: () => Promise<boolean>;
};

/** Asks the agent when it is first of use, and again after half a minute. */
export const createAgentFeatures = (agent: Pick<AgentClient, 'features'>, clock: Clock): AgentFeatures => {
  let cached: { readonly names: Promise<readonly string[]>; readonly until: number } | undefined;
  return {
    async takesClientTools() {
      if (cached === undefined || clock.now() >= cached.until) {
        const asked = { names: agent.features(new AbortController().signal), until: clock.now() + CACHE_MS };
        cached = asked;
        asked.names.catch(() => {
          if (cached === asked) cached = undefined;
        });
      }
      return (await cached.names).includes(CLIENT_TOOLS);
    },
  };
};
