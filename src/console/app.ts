import { createServiceBudget } from '../core/byte-budget.ts';
import { isNotFound } from '../core/fault.ts';
import { AnsweredFailure, createHandler, type Handler } from '../core/http/handler.ts';
import { createRequestBodies } from '../core/http/request-bodies.ts';
import { jsonResponse } from '../core/http/response.ts';
import { createRoutes, type RouteTable } from '../core/http/router.ts';
import { createStandardRoutes } from '../core/http/standard-routes.ts';
import type { Runtime } from '../core/runtime.ts';
import { createSemaphore } from '../core/semaphore.ts';
import { createAccess } from './accounts/access.ts';
import { createDeviceCookies } from './accounts/device-cookie.ts';
import { createEndedSessions, type LogoutFile } from './accounts/ended-sessions.ts';
import { createLoginThrottle } from './accounts/login-throttle.ts';
import type { DeriveKey } from './accounts/password-hash.ts';
import { createSessionCookies } from './accounts/session-cookie.ts';
import { createAccounts } from './accounts/users.ts';
import { withSecurityHeaders } from './assets/headers.ts';
import { createPageRoutes, type PageFiles } from './assets/page-routes.ts';
import { CONSOLE_ERROR_RESPONSES } from './errors.ts';
import { createLinkRoutes } from './links/link-routes.ts';
import { createConsoleParts, type PartNeeds } from './parts.ts';
import type { Parts } from './protocol.ts';
import { createRechargeReading, type ReadJournal } from './recharges/recharge-reading.ts';
import { createApprovalRoutes } from './routes/approvals.ts';
import { createChatRoutes } from './routes/chat.ts';
import { createFactRoutes } from './routes/facts.ts';
import { createLoginRoutes } from './routes/login.ts';
import { createModerationRoutes } from './routes/moderation.ts';
import { createReply } from './routes/reply.ts';
import { createSessionRoutes } from './routes/sessions.ts';
import { createConversationNames } from './services/conversation-names.ts';
import type { ConsoleSettings } from './settings.ts';

export type ConsoleOptions = Runtime &
  PartNeeds & {
    readonly page: PageFiles | undefined;
    readonly gzip: (text: string) => Uint8Array<ArrayBuffer>;
    readonly deriveKey: DeriveKey;
    /** Undefined where logouts are forgotten at the end of the process. */
    readonly logouts: LogoutFile | undefined;
    /** Undefined where no journal is set. */
    readonly readJournal: ReadJournal | undefined;
    readonly version: string;
    readonly isStopping: () => boolean;
    /** What the process may use. */
    readonly memoryBytes: number;
  };

export type Console = {
  readonly handler: Handler;
  /** Begins to follow the services. */
  readonly start: () => void;
  /** Ends the event streams of the browsers, and follows the services no longer. */
  readonly stop: () => void;
};

const BODY_LIMIT_BYTES = 4 * 1024 * 1024;
const FREE_BY_NAME = 5;
/** Behind a proxy all come from one address. */
const FREE_BY_ADDRESS = 20;
const SUBJECTS = 10_000;
/** One key at a time takes one core and 16 MiB. */
const LOGINS_WAITING = 16;

const partsOf = ({ gateway, agents, bridge, journalFile }: ConsoleSettings): Parts => {
  const agent =
    agents.urls.length > 0 || 'Set CONSOLE_AGENT_URLS, and AGENT_SERVER_PASSWORD if the agent server has one';
  return {
    approvals: agent,
    sessions: agent,
    moderation:
      (gateway.url !== undefined && gateway.key !== undefined) ||
      'Set CONSOLE_GATEWAY_URL, and GATEWAY_ADMIN_KEY to the same key here and at the gateway',
    chat: bridge.url !== undefined || 'Set CONSOLE_BRIDGE_URL, and CONSOLE_BRIDGE_KEY to a key of the bridge',
    recharges: journalFile !== undefined || 'Set RELAY_JOURNAL to the file of the relay admin',
  };
};

/** Signs the cookies of those who log in, and says who a visitor is. */
const createVisitors = (options: ConsoleOptions) => {
  const { settings, logouts, deriveKey } = options;
  const accounts = createAccounts(settings.users, deriveKey);
  const signing = { ...options, accounts, publicUrl: settings.publicUrl };
  const cookies = createSessionCookies({ ...signing, ended: createEndedSessions(logouts, options) });
  const access = createAccess({ ...options, way: settings.way, accounts, cookies });
  return { accounts, cookies, devices: createDeviceCookies(signing), access };
};

/** The console as a handler. Creating it does no I/O. */
export const createConsole = (options: ConsoleOptions): Console => {
  const { settings, clock, log, newId, meter, version, isStopping } = options;
  const pageRoutes = createPageRoutes(options);
  const running = createConsoleParts(options);
  const visitors = createVisitors(options);
  const budget = createServiceBudget({ limitBytes: BODY_LIMIT_BYTES, memoryBytes: options.memoryBytes });
  const bodies = createRequestBodies({ ...options, limitBytes: BODY_LIMIT_BYTES, budget });
  const { hide, clients } = running;
  const context = {
    ...{ access: visitors.access, bodies, clock, newId, hide, clients },
    reply: createReply(hide),
    parts: partsOf(settings),
    names: createConversationNames({ digest: options.digest, bridgeKey: settings.bridge.key }),
  };
  const throttle = (free: number) => createLoginThrottle(clock, { free, subjects: SUBJECTS });
  const login = {
    ...{ ...visitors, meter, version },
    byName: throttle(FREE_BY_NAME),
    byAddress: throttle(FREE_BY_ADDRESS),
    places: createSemaphore(1, LOGINS_WAITING),
  };
  const readiness = (): Response =>
    isStopping()
      ? jsonResponse(503, { status: 'not ready', reasons: ['the service is stopping'] }, { 'retry-after': '1' })
      : // Also while a service is away: the page says which one.
        jsonResponse(200, { status: 'ready' });
  const readRecharges = options.readJournal && createRechargeReading(options.readJournal, clock);
  /** The journal is read when someone asks. Without one, or while it cannot be read, it has no metric. */
  const metricsText = async (): Promise<string | undefined> => {
    const journal = await readRecharges?.();
    meter.recordRechargesInDoubt(
      journal !== undefined && 'lists' in journal ? journal.lists.inDoubt.length : undefined,
    );
    return meter.text();
  };
  const table: RouteTable = {
    ...pageRoutes.table,
    ...createLoginRoutes(context, login),
    ...createApprovalRoutes(context, running),
    ...createModerationRoutes(context),
    ...createChatRoutes(context),
    ...createSessionRoutes(context),
    ...createFactRoutes(context, readRecharges),
    ...createLinkRoutes({ ...running, bodies, digest: options.digest }),
    ...createStandardRoutes({ service: 'console', version, ready: readiness, metricsText }),
  };
  const routes = createRoutes(table, () => 'No such path. The page is at /, its API below /api');
  const orPage: Handler = (request) =>
    routes.handler(request).catch((error: unknown) => {
      const page = isNotFound(error) ? pageRoutes.pageForUnknownPath(request) : undefined;
      throw page === undefined ? error : new AnsweredFailure(error, page);
    });
  const handler = createHandler(orPage, {
    clock,
    log,
    newId,
    routeOf: routes.routeOf,
    onAnswered: meter.recordRequest,
    bodies,
    errors: CONSOLE_ERROR_RESPONSES,
  });
  return {
    handler: withSecurityHeaders(handler),
    start: running.start,
    stop() {
      bodies.stop();
      running.stop();
    },
  };
};
