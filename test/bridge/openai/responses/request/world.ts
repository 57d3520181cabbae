import { parseResponsesRequest } from '../../../../../src/bridge/openai/responses/request.ts';
import { refusalOf } from '../../../harness/recorded-outputs.ts';

/** What is read from a request that is accepted. */
export const asked = (body: Record<string, unknown>, headers: Record<string, string> = {}) =>
  parseResponsesRequest({ input: 'Hello', ...body }, new Headers(headers));

/** The refusal of a body. */
export const refused = (body: unknown) => refusalOf(() => parseResponsesRequest(body, new Headers()));
/** The refusal of a request with these members. */
export const refusedWith = (members: Record<string, unknown>) => refused({ input: 'Hello', ...members });
