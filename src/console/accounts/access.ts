import { Fault } from '../../core/fault.ts';
import { equalSecrets, isAddressedToLoopback, isFromLocalProgram } from '../../core/http/auth.ts';
import type { ConsoleFault } from '../errors.ts';
import { ROLES, type Role } from '../protocol.ts';
import type { SessionCookies } from './session-cookie.ts';
import type { Accounts } from './users.ts';

/** Who a request comes from. `session` is what its CSRF token is bound to. */
export type KnownVisitor = { readonly name: string; readonly role: Role; readonly session: string };

/** How visitors are known: by password, by a header of an authenticating proxy, or, on this machine alone, not at all. */
export type LoginWay =
  | { readonly kind: 'password' }
  | { readonly kind: 'proxy'; readonly header: string; readonly publicHost: string | undefined }
  | { readonly kind: 'none' };

export type Access = {
  readonly way: LoginWay['kind'];
  /** Undefined for someone who has not logged in. Faults for a request that must not be answered at all. */
  readonly visitorOf: (request: Request) => Promise<KnownVisitor | undefined>;
  /** The visitor, if that role is theirs or less than theirs. Faults with `unauthorized` or `forbidden` otherwise. */
  readonly require: (request: Request, role: Role) => Promise<KnownVisitor>;
  /** What requests that change something must bring as `x-csrf`. */
  readonly csrfOf: (visitor: KnownVisitor | undefined) => Promise<string>;
  /** Faults with `forbidden` unless the request brings its visitor's CSRF token. */
  readonly requireCsrf: (request: Request, visitor: KnownVisitor | undefined) => Promise<void>;
};

type AccessNeeds = {
  readonly way: LoginWay;
  readonly accounts: Accounts;
  readonly cookies: Pick<SessionCookies, 'read'>;
  readonly secret: string;
  readonly mac: (secret: string, text: string) => Promise<string>;
};

const forbidden = (message: string) => new Fault<ConsoleFault>({ kind: 'forbidden', message });

/** A web page can make its own name lead to this machine, and would then be let in as the user of this machine. */
const WRONG_HOST = new Fault({
  kind: 'bad-input',
  code: 'invalid_host',
  param: null,
  message:
    'Without accounts the console answers this machine alone, under a name such as 127.0.0.1 or localhost. Set CONSOLE_USERS to use it from elsewhere, or CONSOLE_PUBLIC_URL behind a proxy that authenticates',
});

const LOCAL: KnownVisitor = { name: 'local', role: 'admin', session: 'local' };

const allows = (role: Role, needed: Role): boolean => ROLES.indexOf(role) >= ROLES.indexOf(needed);

const NEEDS: { readonly [Needed in Role]: string } = {
  viewer: 'This needs an account of the console',
  approver: 'This needs the role approver or admin',
  admin: 'This needs the role admin',
};

export const createAccess = ({ way, accounts, cookies, secret, mac }: AccessNeeds): Access => {
  const visitorBehindProxy = (
    request: Request,
    header: string,
    publicHost: string | undefined,
  ): KnownVisitor | undefined => {
    if (!isAddressedToLoopback(request) && request.headers.get('host')?.toLowerCase() !== publicHost) throw WRONG_HOST;
    const name = request.headers.get(header) ?? '';
    if (name === '') return undefined;
    const user = accounts.findAuthenticated(name);
    if (user === undefined)
      throw forbidden('Your name has no role here: its operator adds <name>:<role> or *:<role> to CONSOLE_USERS');
    return { name, role: user.role, session: `proxy ${name}` };
  };
  const visitorOf = async (request: Request): Promise<KnownVisitor | undefined> => {
    if (way.kind === 'proxy') return visitorBehindProxy(request, way.header, way.publicHost);
    if (way.kind === 'none') {
      if (!isFromLocalProgram(request)) throw WRONG_HOST;
      return LOCAL;
    }
    const found = await cookies.read(request);
    return found && { name: found.user.name, role: found.user.role, session: found.sessionID };
  };
  const csrfOf = async (visitor: KnownVisitor | undefined): Promise<string> =>
    (await mac(secret, JSON.stringify(['csrf', visitor?.session ?? '']))).slice(0, 22);
  return {
    way: way.kind,
    visitorOf,
    async require(request, role) {
      const visitor = await visitorOf(request);
      if (visitor === undefined) throw new Fault({ kind: 'unauthorized' });
      if (!allows(visitor.role, role)) throw forbidden(NEEDS[role]);
      return visitor;
    },
    csrfOf,
    async requireCsrf(request, visitor) {
      if (equalSecrets(request.headers.get('x-csrf') ?? '', await csrfOf(visitor))) return;
      throw forbidden('Send the csrf of GET /api/me as the header x-csrf: reload the page');
    },
  };
};
