import { Fault } from '../../core/fault.ts';
import { notFoundText } from '../../core/identifier.ts';
import { badInput } from '../request.ts';

const TOKEN_CHARS = 12;
const CONVERSATION_ID = /^conv_([A-Za-z0-9]{1,64})_([A-Za-z0-9]{12})$/;
const RESPONSE_ID = /^resp_([A-Za-z0-9]{1,64})_([A-Za-z0-9]{12})$/;

/** The part of a token that is in a response's id. */
export const responseTokenOf = (token: string): string => token.slice(0, TOKEN_CHARS);

/** Where a response is stored, as read from its id. */
type ResponseLocation = { readonly sessionID: string; readonly token: string };

/** A response id that contains its session's id. `token`: at least twelve random letters and digits. */
export const responseIDFor = (sessionID: string, token: string): string =>
  `resp_${sessionID.replace(/^ses_/, '')}_${responseTokenOf(token)}`;

/** Undefined for an id that the bridge did not create. */
export const readResponseID = (id: string): ResponseLocation | undefined => {
  const [, session, token] = RESPONSE_ID.exec(id) ?? [];
  return session === undefined || token === undefined ? undefined : { sessionID: `ses_${session}`, token };
};

/** A part of an answer, as read from the id of its item. `partID`: that of the agent. */
type PartLocation = { readonly sessionID: string; readonly partID: string };

const PART_ID = /^prt_([A-Za-z0-9]{10,64})(?:\+(\d{1,4}))?$/;
const ITEM_ID = /^(?:msg|rs|mcp|fc)_([A-Za-z0-9]{10,64})_([A-Za-z0-9]{10,64})(?:_\d{1,4})?$/;

/**
 * The id of an item of an answer that is a part of the agent's message: the same wherever and whenever it is read. Undefined for other
 * parts. `key`: the part's id, with a number where it is a further piece of the part.
 */
export const itemIDOfPart = (prefix: string, sessionID: string, key: string): string | undefined => {
  const [, part, piece] = PART_ID.exec(key) ?? [];
  if (part === undefined) return undefined;
  return `${prefix}_${sessionID.replace(/^ses_/, '')}_${part}${piece === undefined ? '' : `_${piece}`}`;
};

/** Undefined for an id that is of no part. */
export const readItemID = (id: string): PartLocation | undefined => {
  const [, session, part] = ITEM_ID.exec(id) ?? [];
  return session === undefined || part === undefined
    ? undefined
    : { sessionID: `ses_${session}`, partID: `prt_${part}` };
};

/** The id of a conversation that a client has created. `token` as for a response. */
export const conversationIDFor = (sessionID: string, token: string): string =>
  `conv_${sessionID.replace(/^ses_/, '')}_${responseTokenOf(token)}`;

/** The session in such an id; undefined for any other name of a conversation. */
export const sessionInConversationID = (name: string): string | undefined => {
  const [, session] = CONVERSATION_ID.exec(name) ?? [];
  return session === undefined ? undefined : `ses_${session}`;
};

/** A name that a client has made up is not quoted. */
export const conversationNotFound = (name: string): Fault => {
  const id = sessionInConversationID(name) === undefined ? undefined : name;
  return new Fault({ kind: 'not-found', hint: `${notFoundText('conversation', id)} for this API key` });
};

/** For a request that goes on after a response which is not there. */
export const previousResponseNotFound = (responseID: string): Fault =>
  badInput(
    'previous_response_not_found',
    'previous_response_id',
    `${responseNotFoundText(responseID)} for this API key: send all earlier messages in 'input' instead`,
  );

/** For a request that goes on after a response whose approval was decided: that goes on itself. `continuationID`: where, if it is known. */
export const previousResponseDecided = (continuationID: string | undefined): Fault =>
  badInput(
    'invalid_value',
    'previous_response_id',
    `Invalid value at 'previous_response_id': the approval that this response asked for was decided before, and its turn went on. Go on from ${continuationID ?? 'the response that followed it'}`,
  );

/** The text of an error about a response that is not there. An id that no bridge creates is not quoted. */
export const responseNotFoundText = (id: string): string =>
  notFoundText('response', readResponseID(id) === undefined ? undefined : id);
