import type { Clock } from '../core/clock.ts';
import { basicAuthorization } from '../core/http/auth.ts';
import type { HttpClient, OpenHttpStream } from '../core/http/client.ts';
import type { Log } from '../core/log.ts';
import { createAgentRequests } from './approvals/agent-requests.ts';
import { createDecisions } from './approvals/decisions.ts';
import { createOpenApprovals } from './approvals/open-approvals.ts';
import { createApprovalLinks } from './links/approval-links.ts';
import { createWebhook } from './links/webhook.ts';
import { createFollowers } from './live/followers.ts';
import { createHealthWatch } from './live/health-watch.ts';
import { createVerdictFeed } from './live/verdict-feed.ts';
import type { ConsoleMetrics } from './metrics.ts';
import type { ServiceState } from './protocol.ts';
import { createSecretFilter } from './services/secret-filter.ts';
import { createServiceClient } from './services/service-client.ts';
import type { ConsoleSettings } from './settings.ts';

/** What the parts of a console use of the world around it. */
export type PartNeeds = {
  readonly settings: ConsoleSettings;
  /** Signs cookies and links. */
  readonly secret: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly meter: ConsoleMetrics;
  readonly httpClient: HttpClient;
  readonly stream: OpenHttpStream;
  /** SHA-256 as base64url. */
  readonly digest: (text: string) => string;
  /** HMAC with SHA-256 as base64url. */
  readonly mac: (secret: string, text: string) => Promise<string>;
};

/** Clients of the services that the settings name. */
const createClients = ({ settings, httpClient, stream, clock }: PartNeeds) => {
  const { gateway, agents, bridge } = settings;
  const create = (part: ServiceState['part'], address: string, authorization: string | undefined) =>
    createServiceClient({
      ...{ part, address, httpClient, stream, clock },
      headers: authorization === undefined ? {} : { authorization },
    });
  const basic = agents.credentials === undefined ? undefined : basicAuthorization(agents.credentials);
  const bearer = (key: string | undefined) => (key === undefined ? undefined : `Bearer ${key}`);
  return {
    // Without its key the gateway has no admin routes.
    gateway:
      gateway.url === undefined || gateway.key === undefined
        ? undefined
        : create('gateway', gateway.url, bearer(gateway.key)),
    agents: agents.urls.map((url) => create('agent', url, basic)),
    bridge: bridge.url === undefined ? undefined : create('bridge', bridge.url, bearer(bridge.key)),
  };
};

/** The console's own secrets, in every form in which they are sent. */
const secretsOf = ({ settings, secret }: PartNeeds): readonly (string | undefined)[] => {
  const { gateway, agents, bridge, notify } = settings;
  const basic = agents.credentials === undefined ? undefined : basicAuthorization(agents.credentials);
  return [secret, gateway.key, bridge.key, agents.credentials?.password, basic?.slice('Basic '.length), notify?.url];
};

/** The approvals, events and links of a console. Nothing is asked before `start`. */
export const createConsoleParts = (needs: PartNeeds) => {
  const { settings, secret, clock, log, meter, httpClient, stream, digest, mac } = needs;
  const clients = createClients(needs);
  const hide = createSecretFilter(secretsOf(needs));
  const onBug = (error: unknown): void =>
    log('error', 'bug', { reason: error instanceof Error ? error.name : typeof error });

  const requests = clients.agents.map((client) =>
    createAgentRequests({ client, stream, clock, log, digest, onChange: () => onRequestsChange() }),
  );
  const health = [
    ...(clients.gateway === undefined
      ? []
      : [{ part: 'gateway', client: clients.gateway, paths: ['/admin/state'] } as const]),
    ...(clients.bridge === undefined
      ? []
      : [{ part: 'bridge', client: clients.bridge, paths: ['/ready', '/v1/models'] } as const]),
  ].map((watched) => createHealthWatch({ ...watched, clock, log, hide, onChange: () => followers.mark('services') }));
  const services = (): readonly ServiceState[] => [...requests, ...health].map(({ state }) => state());

  const links = createApprovalLinks({ find: (id) => approvals.find(id), secret, mac });
  const webhook =
    settings.notify &&
    createWebhook({
      ...{ settings: settings.notify, httpClient, clock, log, meter },
      linkFor: async (approval) => `${settings.publicUrl}/a/${await links.tokenFor(approval)}`,
      onSent: () => followers.mark('approvals'),
    });
  const approvals = createOpenApprovals({ agents: requests, digest, isAnnounced: webhook?.isAnnounced });
  const followers = createFollowers({
    ...{ clock, hide, onBug },
    read: (snapshot) => (snapshot === 'services' ? services() : approvals.snapshot()),
    onCountChange: (count) => (count > 0 ? feed?.start() : feed?.stop()),
  });
  const feed = clients.gateway && createVerdictFeed({ client: clients.gateway, stream, clock, followers });
  const decisions = createDecisions({
    agents: clients.agents.map((client, index) => ({
      client,
      requests: requests[index] ?? { refresh: async () => {} },
    })),
    ...{ approvals, clock, meter },
    onDecided: (decision) => followers.send('decided', decision),
  });
  const onRequestsChange = (): void => {
    webhook?.announce(approvals.list());
    followers.mark('approvals');
    followers.mark('services');
  };
  meter.watch(() => ({
    openApprovals: approvals.list().length,
    followers: followers.count(),
    services: services().length,
    servicesUp: services().filter(({ state }) => state === 'up').length,
  }));
  return {
    ...{ clients, hide, services, links, approvals, followers, decisions },
    start(): void {
      for (const one of [...requests, ...health]) one.start();
    },
    stop(): void {
      for (const one of [...requests, ...health]) one.stop();
      webhook?.stop();
      feed?.stop();
      followers.stop();
    },
  };
};
