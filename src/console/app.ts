import { createServiceBudget } from '../core/byte-budget.ts';
import { Fault } from '../core/fault.ts';
import { AnsweredFailure, createHandler, type Handler } from '../core/http/handler.ts';
import { createRequestBodies } from '../core/http/request-bodies.ts';
import { jsonResponse } from '../core/http/response.ts';
import { createRoutes, type RouteTable } from '../core/http/router.ts';
import { createStandardRoutes } from '../core/http/standard-routes.ts';
import { createSemaphore } from '../core/semaphore.ts';
import type { RunInSlices } from '../core/time-slices.ts';
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
import { createRechargeReading, type ReadJournal } from './recharges/recharge-reading.ts';
import { createApprovalRoutes } from './routes/approvals.ts';
import { createChatRoutes } from './routes/chat.ts';
import { createFactRoutes } from './routes/facts.ts';
import { createLoginRoutes, type Parts } from './routes/login.ts';
import { createModerationRoutes } from './routes/moderation.ts';
import { createReply } from './routes/reply.ts';
import { createSessionRoutes } from './routes/sessions.ts';
import { createConversationNames } from './services/conversation-names.ts';
import type { ConsoleSettings } from './settings.ts';

export type ConsoleOptions = PartNeeds & {
  readonly page: PageFiles | undefined;
  readonly gzip: (text: string) => Uint8Array<ArrayBuffer>;
  readonly deriveKey: DeriveKey;
  /** Twenty random letters and digits that no one can guess. */
  readonly newToken: () => string;
  readonly newRequestId: () => string;
  /** Undefined where logouts are forgotten at the end of the process. */
  readonly logouts: LogoutFile | undefined;
  /** Undefined where no journal is set. */
  readonly readJournal: ReadJournal | undefined;
  readonly runInSlices: RunInSlices;
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

const sentence = (part: true | string): string => (part === true ? '' : part);

/** The console as a handler. Creating it does no I/O. */
export const createConsole = (options: ConsoleOptions): Console => {
  const { settings, secret, clock, log, meter, digest, mac, version, isStopping } = options;
  const pageRoutes = createPageRoutes({ page: options.page, gzip: options.gzip, digest });
  const running = createConsoleParts(options);
  const { clients, hide } = running;
  const accounts = createAccounts(settings.users, options.deriveKey);
  const signed = { accounts, secret, mac, publicUrl: settings.publicUrl };
  const ended = createEndedSessions({ clock, file: options.logouts, log });
  const cookies = createSessionCookies({ ...signed, ended, clock, newSessionID: options.newToken });
  const devices = createDeviceCookies({ ...signed, newDeviceID: options.newToken });
  const access = createAccess({ way: settings.way, accounts, cookies, secret, mac });
  const budget = createServiceBudget({
    limitBytes: BODY_LIMIT_BYTES,
    budgetBytes: undefined,
    memoryBytes: options.memoryBytes,
  });
  const bodies = createRequestBodies({ clock, limitBytes: BODY_LIMIT_BYTES, budget, runInSlices: options.runInSlices });
  const parts = partsOf(settings);
  const context = { access, bodies, clock, reply: createReply(hide) };
  const throttle = (free: number) => createLoginThrottle(clock, { free, subjects: SUBJECTS });
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
  const chats = { agents: clients.agents, names: createConversationNames({ digest, bridgeKey: settings.bridge.key }) };
  const table: RouteTable = {
    ...pageRoutes.table,
    ...createLoginRoutes({
      ...context,
      ...{ accounts, cookies, devices, meter, parts, version },
      byName: throttle(FREE_BY_NAME),
      byAddress: throttle(FREE_BY_ADDRESS),
      places: createSemaphore(1, LOGINS_WAITING),
    }),
    ...createApprovalRoutes({
      ...{ ...context, ...running },
      ...{ agents: clients.agents, notConfigured: sentence(parts.approvals) },
    }),
    ...createModerationRoutes({ ...context, gateway: clients.gateway, notConfigured: sentence(parts.moderation) }),
    ...createChatRoutes({
      ...{ ...context, ...chats, hide, newToken: options.newToken },
      ...{ bridge: clients.bridge, notConfigured: sentence(parts.chat) },
    }),
    ...createSessionRoutes({ ...context, ...chats, notConfigured: sentence(parts.sessions), hide }),
    ...createFactRoutes({
      ...context,
      agents: clients.agents,
      readRecharges,
      notConfigured: { agents: sentence(parts.sessions), recharges: sentence(parts.recharges) },
    }),
    ...createLinkRoutes({ links: running.links, decisions: running.decisions, bodies, digest, hide }),
    ...createStandardRoutes({ service: 'console', version, ready: readiness, metricsText }),
  };
  const routes = createRoutes(table, () => 'No such path. The page is at /, its API below /api');
  const orPage: Handler = (request) =>
    routes.handler(request).catch((error: unknown) => {
      const page =
        error instanceof Fault && error.detail.kind === 'not-found'
          ? pageRoutes.pageForUnknownPath(request)
          : undefined;
      throw page === undefined ? error : new AnsweredFailure(error, page);
    });
  const handler = createHandler(orPage, {
    clock,
    log,
    newRequestId: options.newRequestId,
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
