import * as assert from 'uvu/assert';
import { McpServerError } from '../../../../../src/agent/tools/mcp/errors.ts';
import { rejection } from '../../../../check.ts';

/** Of a caller that never leaves. */
export const NOBODY = new AbortController().signal;
/** Headers of the configuration, with a secret among them. */
export const HEADERS = { authorization: 'Bearer CANARY-token', 'x-own': 'yes' };

/** The message of the error that a promise rejects with. */
export const problem = async (promise: Promise<unknown>): Promise<string> => {
  const error = await rejection(promise);
  assert.instance(error, McpServerError);
  return `${(error as McpServerError).kind}: ${(error as McpServerError).message}`;
};
