import type { Clock } from '../../core/clock.ts';
import { PROMPT_METADATA_FEATURE } from '../../core/http/metadata-revision.ts';
import type { AgentClient } from './types.ts';

/** The name under which our agent server says that it takes tools of its clients. OpenCode has no features. */
const CLIENT_TOOLS = 'client-tools';
/** An agent gets features when it is started anew. */
const CACHE_MS = 30_000;

/** What the agent server can do beyond the API of OpenCode. */
export type AgentFeatures = {
  /** Whether its models may call functions that the client makes the calls of. */
  readonly takesClientTools: () => Promise<boolean>;
  /** Whether a prompt may bring metadata of its session, as far as that is known now: no request waits for it. */
  readonly takesPromptMetadata: () => boolean;
};

/** Asks the agent when it is first of use, and again after half a minute. */
export const createAgentFeatures = (agent: Pick<AgentClient, 'features'>, clock: Clock): AgentFeatures => {
  let cached: { readonly names: Promise<readonly string[]>; readonly until: number } | undefined;
  let known: readonly string[] = [];
  const read = (): Promise<readonly string[]> => {
    if (cached !== undefined && clock.now() < cached.until) return cached.names;
    const asked = { names: agent.features(new AbortController().signal), until: clock.now() + CACHE_MS };
    cached = asked;
    asked.names.then(
      (names) => {
        known = names;
      },
      () => {
        if (cached === asked) cached = undefined;
      },
    );
    return asked.names;
  };
  return {
    takesClientTools: async () => (await read()).includes(CLIENT_TOOLS),
    takesPromptMetadata() {
      read().catch(() => {});
      return known.includes(PROMPT_METADATA_FEATURE);
    },
  };
};
