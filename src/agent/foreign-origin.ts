const LOCAL_NAME = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/;
const USUAL_PORT = /:(?:80|443)$/;

const nameIn = (text: string): string => text.toLowerCase().replace(USUAL_PORT, '');

/**
 * Whether a browser sends a request for a page of another server. It adds the password that a person has typed once, and
 * the page need not see the answer to have had its way. What is no browser sends no `Origin`.
 */
export const hasForeignOrigin = ({ headers }: Request): boolean => {
  const origin = headers.get('origin');
  if (origin === null) return false;
  const from = nameIn(origin.replace(/^https?:\/\//i, ''));
  const to = nameIn(headers.get('host') ?? '');
  return from !== to && !(LOCAL_NAME.test(from) && LOCAL_NAME.test(to));
};
