const TOKEN_CHARS = 12;
const RESPONSE_ID = /^resp_([A-Za-z0-9]{1,64})_([A-Za-z0-9]{12})$/;

/** Which exchange a response is, as its id says. */
export type ResponsePlace = { readonly sessionID: string; readonly token: string };

/** An id from which the session can be read back. `token` is random letters and digits, at least twelve. */
export const responseIDFor = (sessionID: string, token: string): string =>
  `resp_${sessionID.replace(/^ses_/, '')}_${token.slice(0, TOKEN_CHARS)}`;

/** Nothing for an id that is none of ours. */
export const readResponseID = (id: string): ResponsePlace | undefined => {
  const [, session, token] = RESPONSE_ID.exec(id) ?? [];
  return session === undefined || token === undefined ? undefined : { sessionID: `ses_${session}`, token };
};
