import { Fault } from '../core/fault.ts';
import type { Failure } from './turn/output.ts';

/** A failed answer as the fault it is answered with. Asking again would run the turn again, so no client is told to. */
export const faultOf = ({ status, code, message }: Failure): Fault =>
  new Fault({ kind: 'agent-failed', status, code, message, isRetryable: false });

/** For a source of sayings that ended without a last one, which is a bug of ours. */
export const unended = (): Error => new Error('An answer ended without its last word');
