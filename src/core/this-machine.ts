const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[?::1\]?)$/i;
const LOCAL_NAME = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i;

/** Whether only this machine can reach a server that listens there. */
export const isLoopback = (host: string): boolean => LOOPBACK.test(host);

/**
 * Whether a request comes from a program of this machine and not from a web page that a browser of this machine shows: such a
 * page can make its own name lead here, and send what needs no answer to read.
 */
export const isOfThisMachine = ({ headers }: Request): boolean => {
  const origin = headers.get('origin');
  const isLocalOrigin = origin === null || LOCAL_NAME.test(origin.replace(/^https?:\/\//i, ''));
  return isLocalOrigin && LOCAL_NAME.test(headers.get('host') ?? '');
};
