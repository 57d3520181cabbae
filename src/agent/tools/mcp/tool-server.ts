import type { ToolOutcome } from '../tool.ts';
import type { McpCall } from './client.ts';
import { type ConnectionOptions, type KeptConnection, keepConnected, type McpStatus } from './connection.ts';
import { CALL_NOT_SENT, callErrorText, McpServerError } from './errors.ts';
import { EMPTY_LISTING, type Listing } from './tool-list.ts';

/** One configured tool server, which can be enabled and disabled. */
export type ToolServer = {
  readonly status: () => McpStatus;
  readonly listing: () => Listing;
  readonly instructions: () => string | undefined;
  /** Enables it, if it is disabled. */
  readonly enable: () => KeptConnection;
  /** Settles when its connection is closed. */
  readonly disable: () => Promise<void>;
  /** Rejects with the signal's reason when that aborts. Every other failure is an outcome. */
  readonly call: (call: McpCall, signal: AbortSignal) => Promise<ToolOutcome>;
};

const toOutcome = (output: string, isError: boolean): ToolOutcome => ({ output, title: '', metadata: {}, isError });

/** Creates a server that is disabled at first. */
export const createToolServer = (options: ConnectionOptions): ToolServer => {
  let kept: KeptConnection | undefined;
  let closing: Promise<void> = Promise.resolve();
  return {
    status: () => kept?.status() ?? { status: 'disabled' },
    listing: () => kept?.listing() ?? EMPTY_LISTING,
    instructions: () => kept?.connection()?.instructions,
    enable() {
      kept ??= keepConnected(options, closing);
      return kept;
    },
    disable() {
      if (kept !== undefined) closing = kept.close();
      kept = undefined;
      return closing;
    },
    async call(call, signal) {
      signal.throwIfAborted();
      const connection = kept?.connection();
      if (connection === undefined)
        return toOutcome(kept === undefined ? CALL_NOT_SENT.off : CALL_NOT_SENT.disconnected, true);
      try {
        const { text, files, isError } = await connection.call(call, signal);
        return { ...toOutcome(text, isError), ...(files.length === 0 ? {} : { files }) };
      } catch (error) {
        if (error instanceof McpServerError) return toOutcome(callErrorText(error), true);
        throw error;
      }
    },
  };
};
