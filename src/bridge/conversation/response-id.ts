import { notFoundText } from '../../core/identifier.ts';

const TOKEN_CHARS = 12;
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

/** The text of an error about a response that is not there. An id that no bridge creates is not quoted. */
export const responseNotFoundText = (id: string): string =>
  notFoundText('response', readResponseID(id) === undefined ? undefined : id);
