import {
  ErrorCode,
  isJSONRPCErrorResponse,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  JSONRPCMessageSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { isNestedBeyond } from '../../../core/json.ts';

/** How many levels a message may have. The SDK writes some messages as JSON again, which overflows the stack at about 4,000. */
const LEVELS_LIMIT = 512;

/**
 * A message that recursive code can read. A response with more than 512 levels becomes an error, so that the one call fails that
 * waits for it; every other such message is undefined.
 */
export const limitLevels = (message: JSONRPCMessage): JSONRPCMessage | undefined => {
  if (!isNestedBeyond(message, LEVELS_LIMIT)) return message;
  if (!isJSONRPCResultResponse(message) && !isJSONRPCErrorResponse(message)) return undefined;
  const error = { code: ErrorCode.InternalError, message: `more than ${LEVELS_LIMIT} levels` };
  return { jsonrpc: '2.0', id: message.id, error };
};

/** The message that a value of JSON is, as `limitLevels` leaves it; undefined if it is none. */
export const toMessage = (value: unknown): JSONRPCMessage | undefined => {
  const parsed = JSONRPCMessageSchema.safeParse(value);
  return parsed.success ? limitLevels(parsed.data) : undefined;
};
