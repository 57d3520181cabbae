import { pause } from '../core/async.ts';
import type { Clock } from '../core/clock.ts';
import type { McpConnection } from './mcp/client.ts';
import { McpProblem } from './mcp/errors.ts';
import type { Listing } from './mcp/tool-list.ts';

export type RelistingNeeds = {
  readonly clock: Clock;
  readonly take: (listing: Listing) => void;
  readonly onFailed: (reason: string) => void;
};

/** A server that says all the time that its tools have changed is asked no more often than this. */
const LEAST_INTERVAL_MS = 1000;

/** Lists a connection's tools again whenever it is told to, one list at a time, until the signal aborts. */
export const createRelisting = ({ clock, take, onFailed }: RelistingNeeds, signal: AbortSignal) => {
  let isBusy = false;
  let isWanted = false;
  const listWhileWanted = async (connection: Pick<McpConnection, 'list'>): Promise<void> => {
    while (isWanted) {
      isWanted = false;
      const listing = await connection.list(signal).catch((error: unknown) => {
        signal.throwIfAborted();
        onFailed(error instanceof McpProblem ? error.message : 'The tools could not be listed');
      });
      if (listing !== undefined) take(listing);
      await pause(clock, LEAST_INTERVAL_MS, signal);
    }
  };
  return (connection: Pick<McpConnection, 'list'>): void => {
    isWanted = true;
    if (isBusy) return;
    isBusy = true;
    listWhileWanted(connection)
      // Only ever because the connection is over.
      .catch(() => {})
      .finally(() => {
        isBusy = false;
      });
  };
};
