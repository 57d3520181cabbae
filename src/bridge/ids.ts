import { notFoundText } from '../core/identifier.ts';

// Ids of OpenAI's API hold the ids of the agent server, so that any bridge reads them.

const TOKEN_CHARS = 20;

/** Letters and digits of a new id, which no one can guess. */
export const tokenOf = (newID: string): string => newID.replaceAll('-', '').slice(0, TOKEN_CHARS);

/** An id without its kind. */
const bodyOf = (id: string): string => id.replace(/^[a-z]{3}_/, '');

const BODY = '[A-Za-z0-9]{10,64}';
const RESPONSE_ID = new RegExp(`^resp_(${BODY})(?:_[A-Za-z0-9]{6,20})?$`);
const CONVERSATION_ID = new RegExp(`^conv_(${BODY})$`);
const ITEM_ID = new RegExp(`^(?:msg|rs|mcp|fc|ctc)_(${BODY})_(${BODY})(?:_\\d{1,4})?$`);
const PART_KEY = new RegExp(`^prt_(${BODY})(?:\\+(\\d{1,4}))?$`);

/** The part of a turn's id that is in the ids of its answer. */
export const answerIDOf = (turnID: string): string => bodyOf(turnID);

/** The id of a response. `token`: of a text of the bridge that was given in place of the next answer of this turn. */
export const responseIDOf = (answerID: string, token?: string): string =>
  `resp_${answerID}${token === undefined ? '' : `_${token}`}`;

/** The turn of a response's id; undefined for an id that no bridge has made. */
export const turnOfResponseID = (id: string): string | undefined => {
  const [, body] = RESPONSE_ID.exec(id) ?? [];
  return body === undefined ? undefined : `trn_${body}`;
};

/** The text of an error about a response that is not there. An id that no bridge creates is not quoted. */
export const responseNotFoundText = (id: string): string =>
  `${notFoundText('response', turnOfResponseID(id) === undefined ? undefined : id)} for this API key`;

/** The id of a conversation as clients have it. */
export const conversationIDOf = (id: string): string => `conv_${bodyOf(id)}`;

/** The conversation in such an id; undefined for any other name. */
export const conversationInID = (name: string): string | undefined => {
  const [, body] = CONVERSATION_ID.exec(name) ?? [];
  return body === undefined ? undefined : `cnv_${body}`;
};

/**
 * The id of an item that is a part of a message of the agent: the same wherever and whenever it is read. Undefined for other parts.
 * `key`: the part's id, with a number where it is a further piece of the part.
 */
export const itemIDOfPart = (prefix: string, sessionID: string, key: string): string | undefined => {
  const [, part, piece] = PART_KEY.exec(key) ?? [];
  if (part === undefined) return undefined;
  return `${prefix}_${bodyOf(sessionID)}_${part}${piece === undefined ? '' : `_${piece}`}`;
};

/** The session and the part of an item's id; undefined for an id that is of no part. */
export const partOfItemID = (id: string): { readonly sessionID: string; readonly partID: string } | undefined => {
  const [, session, part] = ITEM_ID.exec(id) ?? [];
  return session === undefined || part === undefined
    ? undefined
    : { sessionID: `ses_${session}`, partID: `prt_${part}` };
};
