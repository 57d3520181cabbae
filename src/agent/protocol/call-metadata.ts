import type { ToolPart } from './types.ts';

/** Metadata of a call that does not count, because its step was begun again. */
export const WITHDRAWN = { withdrawn: true } as const;

/** Whether a call does not count. The repeated step may even have a call with the same id. */
export const isWithdrawn = ({ state }: ToolPart): boolean =>
  state.status === 'error' && state.metadata?.withdrawn === true;

/** Metadata of a call that the client carries out. */
export const CLIENT_TOOL = { clientTool: true } as const;

/** The same for a call that has ended without a result of the client. */
export const UNANSWERED = { ...CLIENT_TOOL, unanswered: true } as const;

/** Whether a call was handed to the client. */
export const isClientCall = ({ state }: ToolPart): boolean =>
  state.status !== 'pending' && state.metadata?.clientTool === true;
