import * as v from 'valibot';
import { createDeadline } from '../../core/async.ts';
import { Fault } from '../../core/fault.ts';
import { networkOf, peerOf } from '../../core/http/peer.ts';
import type { RouteTable } from '../../core/http/router.ts';
import type { Semaphore } from '../../core/semaphore.ts';
import type { DeviceCookies } from '../accounts/device-cookie.ts';
import type { LoginThrottle } from '../accounts/login-throttle.ts';
import type { SessionCookies } from '../accounts/session-cookie.ts';
import type { Accounts } from '../accounts/users.ts';
import type { ConsoleFault } from '../errors.ts';
import type { ConsoleMetrics } from '../metrics.ts';
import type { Me } from '../protocol.ts';
import { type ApiContext, parseGiven } from './context.ts';

type LoginRoutesNeeds = {
  readonly accounts: Accounts;
  readonly cookies: SessionCookies;
  readonly devices: DeviceCookies;
  readonly byName: LoginThrottle;
  readonly byAddress: LoginThrottle;
  /** Deriving a key takes a core and much memory. */
  readonly places: Semaphore;
  readonly meter: Pick<ConsoleMetrics, 'recordLogin'>;
  readonly version: string;
};

const LoginBody = v.object({
  name: v.pipe(v.string(), v.maxLength(64)),
  password: v.pipe(v.string(), v.maxLength(1024)),
});

/** How long a login waits for those before it. */
const LOGIN_LIMIT_MS = 10_000;

const NO_PASSWORDS = 'Nobody logs in here: this console has no accounts with passwords';

/** Who is logged in, the login and the logout. */
export const createLoginRoutes = (context: ApiContext, needs: LoginRoutesNeeds): RouteTable => {
  const { access, bodies, clock, reply, parts } = context;
  const { accounts, cookies, devices, byName, byAddress, places, meter, version } = needs;
  /** Counts an attempt. Returns what forgets it when it was right, and those for the same name before it. */
  const begin = async (request: Request, name: string): Promise<() => void> => {
    const device = await devices.deviceOf(request, name);
    const address = networkOf(peerOf(request) ?? 'unknown');
    const waitMs = device === undefined ? byAddress.begin(address) || byName.begin(name) : byName.begin(device);
    if (waitMs <= 0)
      return () => {
        const own = byName.succeed(device ?? name);
        // Those for other names stay: an account of one's own must not end the wait for guesses at others.
        if (device === undefined) byAddress.succeed(address, own);
      };
    meter.recordLogin('throttled');
    throw new Fault({ kind: 'rate-limited', retryAfterMs: waitMs });
  };
  return {
    '/api/me': {
      async GET(request) {
        const visitor = await access.visitorOf(request);
        const user = visitor === undefined ? null : { name: visitor.name, role: visitor.role };
        const me: Me = { user, csrf: await access.csrfOf(visitor), login: access.way, parts, version };
        return reply.json(me);
      },
    },
    '/api/login': {
      async POST(request) {
        if (access.way !== 'password') throw new Fault({ kind: 'conflict', message: NO_PASSWORDS });
        await access.requireCsrf(request, await access.visitorOf(request));
        const { name, password } = parseGiven(LoginBody, await bodies.readJson(request));
        const succeed = await begin(request, name);
        const deadline = createDeadline(clock, LOGIN_LIMIT_MS, request.signal);
        const leave = await places.acquire(deadline.signal).finally(deadline.clear);
        const user = await accounts.verify(name, password).finally(leave);
        meter.recordLogin(user === undefined ? 'wrong' : 'right');
        if (user === undefined) throw new Fault<ConsoleFault>({ kind: 'wrong-login' });
        succeed();
        const headers = new Headers({ 'set-cookie': await cookies.begin(user, request) });
        headers.append('set-cookie', await devices.begin(user, request));
        return new Response(null, { status: 204, headers });
      },
    },
    '/api/logout': {
      async POST(request) {
        const visitor = await access.visitorOf(request);
        if (visitor === undefined || access.way !== 'password') return new Response(null, { status: 204 });
        await access.requireCsrf(request, visitor);
        const cookie = await cookies.end(visitor.session, request);
        return new Response(null, { status: 204, headers: { 'set-cookie': cookie } });
      },
    },
  };
};
