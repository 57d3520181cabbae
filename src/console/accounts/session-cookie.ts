import * as v from 'valibot';
import { equalSecrets } from '../../core/http/auth.ts';
import { parseJson } from '../../core/json.ts';
import type { Runtime } from '../../core/runtime.ts';
import { cookieHeader, cookieValues } from './cookies.ts';
import { type EndedSessions, SESSION_LIFETIME_MS } from './ended-sessions.ts';
import type { Accounts, ConsoleUser } from './users.ts';

/** Makes and reads the cookies of those who have logged in with a password. */
export type SessionCookies = {
  /** A `Set-Cookie` header that begins a session. */
  readonly begin: (user: ConsoleUser, request: Request) => Promise<string>;
  /** The user and the session of a request's cookie, if it is whole, not over and not logged out, and its user unchanged. */
  readonly read: (request: Request) => Promise<{ readonly user: ConsoleUser; readonly sessionID: string } | undefined>;
  /** Ends a session, also for those who have copied its cookie. Returns the header that removes the cookie. */
  readonly end: (sessionID: string, request: Request) => Promise<string>;
};

type CookieNeeds = Pick<Runtime, 'clock' | 'newId'> & {
  readonly accounts: Pick<Accounts, 'find'>;
  readonly ended: EndedSessions;
  readonly secret: string;
  /** HMAC with SHA-256 as base64url. */
  readonly mac: (secret: string, text: string) => Promise<string>;
  /** The address under which people reach the console. */
  readonly publicUrl: string | undefined;
};

const NAME = 'gatehouse';

const Payload = v.strictObject({ name: v.string(), id: v.string(), ends: v.number() });

const toBase64Url = (text: string): string =>
  btoa(String.fromCharCode(...new TextEncoder().encode(text)))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');

const fromBase64Url = (text: string): string => {
  try {
    const bytes = Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (char) => char.charCodeAt(0));
    return new TextDecoder().decode(bytes);
  } catch {
    return '';
  }
};

/** The signature covers the user's role and password hash, so that a change of either ends the sessions of that user. */
export const createSessionCookies = (needs: CookieNeeds): SessionCookies => {
  const { accounts, ended, secret, clock, mac, newId, publicUrl } = needs;
  const sign = (payload: string, { role, hash }: ConsoleUser): Promise<string> =>
    mac(secret, JSON.stringify(['session', payload, role, hash?.key ?? '']));
  const readOne = async (value: string) => {
    const [encoded = '', offered = ''] = value.split('.', 2);
    const payload = parseJson(Payload, fromBase64Url(encoded));
    const user = payload === undefined ? undefined : accounts.find(payload.name);
    if (payload === undefined || user === undefined) return undefined;
    if (!equalSecrets(offered, await sign(encoded, user))) return undefined;
    if (clock.now() >= payload.ends || (await ended.has(payload.id))) return undefined;
    return { user, sessionID: payload.id };
  };
  return {
    async begin(user, request) {
      const payload = { name: user.name, id: newId(), ends: clock.now() + SESSION_LIFETIME_MS };
      const encoded = toBase64Url(JSON.stringify(payload));
      const value = `${encoded}.${await sign(encoded, user)}`;
      return cookieHeader({ name: NAME, value, lifetimeMs: SESSION_LIFETIME_MS }, request, publicUrl);
    },
    async read(request) {
      for (const value of cookieValues(request, NAME, publicUrl)) {
        const found = await readOne(value);
        if (found !== undefined) return found;
      }
      return undefined;
    },
    async end(sessionID, request) {
      await ended.add(sessionID);
      return cookieHeader({ name: NAME, value: '', lifetimeMs: 0 }, request, publicUrl);
    },
  };
};
