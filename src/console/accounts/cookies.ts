/** The names of the console's cookies, where the browser did not come by https. */
export type CookieName = 'gatehouse' | 'gatehouse-device';

const COOKIE_LIMIT_CHARS = 1024;

/**
 * Whether the browser came by https: then it is known by the secure name alone, as hosts beside this one could have set the other.
 * Saying https where it is not does a visitor harm alone: the cookie is not taken.
 */
const isSecure = ({ headers }: Request, publicUrl: string | undefined): boolean =>
  publicUrl?.startsWith('https:') === true || headers.get('x-forwarded-proto') === 'https';

/** Browsers take a cookie of the secure name from a secure origin alone, and for that host alone. */
const fullName = (name: CookieName, isSecureOne: boolean): string => (isSecureOne ? `__Host-${name}` : name);

/** The values of a cookie: several can have one name, for several paths. `publicUrl`: the address of the console. */
export const cookieValues = (request: Request, name: CookieName, publicUrl: string | undefined): readonly string[] =>
  (request.headers.get('cookie') ?? '')
    .split(';')
    .map((pair) => pair.trim().split('=', 2))
    .flatMap(([given, value = '']) =>
      given === fullName(name, isSecure(request, publicUrl)) && value.length <= COOKIE_LIMIT_CHARS ? [value] : [],
    )
    .slice(0, 4);

type NewCookie = { readonly name: CookieName; readonly value: string; readonly lifetimeMs: number };

/** A `Set-Cookie` header: neither scripts nor other sites get the cookie. */
export const cookieHeader = (
  { name, value, lifetimeMs }: NewCookie,
  request: Request,
  publicUrl: string | undefined,
): string => {
  const isSecureOne = isSecure(request, publicUrl);
  const lifetime = Math.floor(lifetimeMs / 1000);
  return `${fullName(name, isSecureOne)}=${value}; Path=/; Max-Age=${lifetime}; HttpOnly; SameSite=Strict${isSecureOne ? '; Secure' : ''}`;
};
