import { Fault } from '../core/fault.ts';
import { replyTo, replyToBug } from '../core/http/response.ts';

/** What went wrong as the data of a last event, in the words of an answer's body; empty for a client that left. */
export const errorEvent = (error: unknown): Promise<string> =>
  (error instanceof Fault ? replyTo(error.detail) : replyToBug()).text();
