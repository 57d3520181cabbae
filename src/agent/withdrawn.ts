import type { ToolPart } from './protocol/types.ts';

/** Marks a call of an attempt that counts for nothing, because its step was begun anew. */
export const WITHDRAWN = { withdrawn: true } as const;

/** Whether a call counts for nothing. A backend that was asked anew may even have given its id to another one. */
export const isWithdrawn = ({ state }: ToolPart): boolean =>
  state.status === 'error' && state.metadata?.withdrawn === true;
