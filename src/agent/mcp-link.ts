import type { McpCall } from './mcp/client.ts';
import { beginLife, type McpLife, type McpLifeNeeds, type McpStatus } from './mcp/connection.ts';
import { McpProblem } from './mcp/errors.ts';
import type { Listing } from './mcp/tool-list.ts';
import { callWords, UNSENT } from './mcp-words.ts';
import type { ToolOutcome } from './tools/tool.ts';

/** One configured server, which can be switched on and off. */
export type McpLink = {
  readonly status: () => McpStatus;
  readonly listing: () => Listing;
  readonly instructions: () => string | undefined;
  /** Switches it on when it is off. */
  readonly on: () => McpLife;
  /** Settles when nothing of it is left. */
  readonly off: () => Promise<void>;
  /** Rejects with the signal's reason when that aborts; every other failure is an outcome. */
  readonly call: (call: McpCall, signal: AbortSignal) => Promise<ToolOutcome>;
};

const NOTHING: Listing = { tools: [], skipped: [] };

const outcome = (output: string, isError: boolean): ToolOutcome => ({ output, title: '', metadata: {}, isError });

export const createMcpLink = (needs: McpLifeNeeds): McpLink => {
  let life: McpLife | undefined;
  let ending: Promise<void> = Promise.resolve();
  return {
    status: () => life?.status() ?? { status: 'disabled' },
    listing: () => life?.listing() ?? NOTHING,
    instructions: () => life?.connection()?.instructions,
    on() {
      life ??= beginLife(needs, ending);
      return life;
    },
    off() {
      if (life !== undefined) ending = life.end();
      life = undefined;
      return ending;
    },
    async call(call, signal) {
      signal.throwIfAborted();
      const connection = life?.connection();
      if (connection === undefined) return outcome(life === undefined ? UNSENT.off : UNSENT.away, true);
      try {
        const { text, isError } = await connection.call(call, signal);
        return outcome(text, isError);
      } catch (error) {
        if (error instanceof McpProblem) return outcome(callWords(error), true);
        throw error;
      }
    },
  };
};
