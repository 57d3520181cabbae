import { equalSecrets } from '../../core/http/auth.ts';
import type { Runtime } from '../../core/runtime.ts';
import { cookieHeader, cookieValues } from './cookies.ts';
import type { Accounts, ConsoleUser } from './users.ts';

/**
 * Knows the browsers in which a user has logged in before (OWASP's device cookies). Their attempts are counted apart: who guesses the
 * user's password elsewhere does not keep the user out.
 */
export type DeviceCookies = {
  /** What stands for the browser, if the user has logged in with it and has the same password still. */
  readonly deviceOf: (request: Request, name: string) => Promise<string | undefined>;
  /** A `Set-Cookie` header that makes the browser known. */
  readonly begin: (user: ConsoleUser, request: Request) => Promise<string>;
};

type DeviceCookieNeeds = Pick<Runtime, 'newId'> & {
  readonly accounts: Pick<Accounts, 'find'>;
  readonly secret: string;
  /** HMAC with SHA-256 as base64url. */
  readonly mac: (secret: string, text: string) => Promise<string>;
  readonly publicUrl: string | undefined;
};

const LIFETIME_MS = 180 * 86_400_000;
const NAME = 'gatehouse-device';

export const createDeviceCookies = (needs: DeviceCookieNeeds): DeviceCookies => {
  const { accounts, secret, mac, newId, publicUrl } = needs;
  const sign = (id: string, { name, hash }: ConsoleUser): Promise<string> =>
    mac(secret, JSON.stringify(['device', id, name, hash?.key ?? '']));
  return {
    async deviceOf(request, name) {
      const user = accounts.find(name);
      if (user === undefined) return undefined;
      for (const value of cookieValues(request, NAME, publicUrl)) {
        const [id = '', offered = ''] = value.split('.', 2);
        // A name has no blank.
        if (equalSecrets(offered, await sign(id, user))) return `device ${id}`;
      }
      return undefined;
    },
    async begin(user, request) {
      const id = newId();
      const value = `${id}.${await sign(id, user)}`;
      return cookieHeader({ name: NAME, value, lifetimeMs: LIFETIME_MS }, request, publicUrl);
    },
  };
};
