import * as v from 'valibot';
import { setNewest } from '../../core/bounded-map.ts';
import type { Clock } from '../../core/clock.ts';
import { equalSecrets } from '../../core/http/auth.ts';
import { parseJson } from '../../core/json.ts';
import type { Accounts, ConsoleUser } from './users.ts';

/** Makes and reads the cookies of those who have logged in with a password. */
export type SessionCookies = {
  /** A `Set-Cookie` header that begins a session. */
  readonly begin: (user: ConsoleUser, request: Request) => Promise<string>;
  /** The user and the session of a request's cookie, if it is whole, not over and not logged out, and its user unchanged. */
  readonly read: (request: Request) => Promise<{ readonly user: ConsoleUser; readonly sessionID: string } | undefined>;
  /** Ends a session for good, also for those who have copied its cookie. Returns the header that removes the cookie. */
  readonly end: (sessionID: string, request: Request) => string;
};

type CookieNeeds = {
  readonly accounts: Pick<Accounts, 'find'>;
  readonly secret: string;
  readonly clock: Clock;
  /** HMAC with SHA-256 as base64url. */
  readonly mac: (secret: string, text: string) => Promise<string>;
  readonly newSessionID: () => string;
  /** The address under which people reach the console. */
  readonly publicUrl: string | undefined;
};

/** How long a login lasts. */
export const SESSION_LIFETIME_MS = 12 * 3_600_000;
/** Only those who were logged in can fill it. */
const ENDED_LIMIT = 10_000;
const NAME = 'gatehouse';
/** Browsers take a cookie of this name from a secure origin alone, and for that host alone. */
const SECURE_NAME = `__Host-${NAME}`;
const COOKIE_LIMIT_CHARS = 1024;

const Payload = v.strictObject({ name: v.string(), id: v.string(), ends: v.number() });

const nameOf = (isSecure: boolean): string => (isSecure ? SECURE_NAME : NAME);

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

/** The values of the session's cookie: several can have one name, for several paths. */
const valuesIn = ({ headers }: Request, isSecure: boolean): readonly string[] =>
  (headers.get('cookie') ?? '')
    .split(';')
    .map((pair) => pair.trim().split('=', 2))
    .flatMap(([name, value = '']) => (name === nameOf(isSecure) && value.length <= COOKIE_LIMIT_CHARS ? [value] : []))
    .slice(0, 4);

const header = (value: string, lifetimeMs: number, isSecure: boolean): string =>
  `${nameOf(isSecure)}=${value}; Path=/; Max-Age=${Math.floor(lifetimeMs / 1000)}; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`;

/** The signature covers the user's role and password hash, so that a change of either ends the sessions of that user. */
export const createSessionCookies = (needs: CookieNeeds): SessionCookies => {
  const { accounts, secret, clock, mac, newSessionID, publicUrl } = needs;
  /**
   * Whether the browser came by https: then it is known by the secure name alone, as hosts beside this one could have set the other.
   * Saying https where it is not does a visitor harm alone: the cookie is not taken.
   */
  const isSecure = ({ headers }: Request): boolean =>
    publicUrl?.startsWith('https:') === true || headers.get('x-forwarded-proto') === 'https';
  const ended = new Map<string, number>();
  const sign = (payload: string, { role, hash }: ConsoleUser): Promise<string> =>
    mac(secret, JSON.stringify(['session', payload, role, hash?.key ?? '']));
  const readOne = async (value: string) => {
    const [encoded = '', offered = ''] = value.split('.', 2);
    const payload = parseJson(Payload, fromBase64Url(encoded));
    const user = payload === undefined ? undefined : accounts.find(payload.name);
    if (payload === undefined || user === undefined) return undefined;
    if (!equalSecrets(offered, await sign(encoded, user))) return undefined;
    if (clock.now() >= payload.ends || ended.has(payload.id)) return undefined;
    return { user, sessionID: payload.id };
  };
  return {
    async begin(user, request) {
      const payload = { name: user.name, id: newSessionID(), ends: clock.now() + SESSION_LIFETIME_MS };
      const encoded = toBase64Url(JSON.stringify(payload));
      return header(`${encoded}.${await sign(encoded, user)}`, SESSION_LIFETIME_MS, isSecure(request));
    },
    async read(request) {
      for (const value of valuesIn(request, isSecure(request))) {
        const found = await readOne(value);
        if (found !== undefined) return found;
      }
      return undefined;
    },
    end(sessionID, request) {
      for (const [id, endsAt] of ended) if (endsAt <= clock.now()) ended.delete(id);
      setNewest(ended, [sessionID, clock.now() + SESSION_LIFETIME_MS], ENDED_LIMIT);
      return header('', 0, isSecure(request));
    },
  };
};
