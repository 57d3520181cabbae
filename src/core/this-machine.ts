const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[?::1\]?)$/i;
const LOCAL_NAME = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i;

/** Whether only this machine can reach a server that listens there. */
export const isLoopback = (host: string): boolean => LOOPBACK.test(host);

/** Whether a request was sent to this machine under one of its own names, and not under one that a web page has made lead here. */
export const isToThisMachine = ({ headers }: Request): boolean => LOCAL_NAME.test(headers.get('host') ?? '');

/**
 * Whether a request comes from a program of this machine and not from a web page that a browser of this machine shows: such a
 * page can make its own name lead here, and send what needs no answer to read.
 */
export const isOfThisMachine = (request: Request): boolean => {
  const origin = request.headers.get('origin');
  const isLocalOrigin = origin === null || LOCAL_NAME.test(origin.replace(/^https?:\/\//i, ''));
  return isLocalOrigin && isToThisMachine(request);
};
