import { basicAuthorization } from '../core/http/auth.ts';
import type { HttpClient, OpenHttpStream } from '../core/http/client.ts';
import type { Runtime } from '../core/runtime.ts';
import { createAgentRequests } from './approvals/agent-requests.ts';
import { createDecisions } from './approvals/decisions.ts';
import { createOpenApprovals } from './approvals/open-approvals.ts';
import { createApprovalLinks } from './links/approval-links.ts';
import { createWebhook } from './links/webhook.ts';
import { createFollowers } from './live/followers.ts';
import { createHealthWatch } from './live/health-watch.ts';
import { createVerdictFeed } from './live/verdict-feed.ts';
import type { ConsoleMetrics } from './metrics.ts';
import type { ServicePart, ServiceState } from './protocol.ts';
import { createSecretFilter } from './services/secret-filter.ts';
import { createServiceClient, type ServiceClients } from './services/service-client.ts';
import type { ConsoleSettings } from './settings.ts';

/** What the parts of a console use of the world around it. */
export type PartNeeds = Pick<Runtime, 'clock' | 'log'> & {
  readonly settings: ConsoleSettings;
  /** Signs cookies and links. */
  readonly secret: string;
  readonly meter: ConsoleMetrics;
  readonly httpClient: HttpClient;
  readonly stream: OpenHttpStream;
  /** SHA-256 as base64url. */
  readonly digest: (text: string) => string;
  /** HMAC with SHA-256 as base64url. */
  readonly mac: (secret: string, text: string) => Promise<string>;
};

/** Clients of the services that the settings name. */
const createClients = (needs: PartNeeds): ServiceClients => {
  const { gateway, agents, bridge } = needs.settings;
  const create = (part: ServicePart, address: string, authorization: string | undefined) =>
    createServiceClient({ ...needs, part, address, headers: authorization === undefined ? {} : { authorization } });
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

/** The approvals, events and links of a console. Before `start` nothing is asked or sent. */
export const createConsoleParts = (given: PartNeeds) => {
  const { settings, meter } = given;
  const needs = { ...given, hide: createSecretFilter(secretsOf(given)) };
  const clients = createClients(given);
  const { gateway, bridge } = clients;
  const agents = clients.agents.map((client) => createAgentRequests(client, needs));
  const health = [
    ...(gateway === undefined ? [] : [createHealthWatch(gateway, ['/admin/state'], needs)]),
    ...(bridge === undefined ? [] : [createHealthWatch(bridge, ['/ready', '/v1/models'], needs)]),
  ];
  const services = (): readonly ServiceState[] => [...agents, ...health].map(({ state }) => state());
  const links = createApprovalLinks(needs);
  const webhook =
    settings.notify &&
    createWebhook({
      ...needs,
      settings: settings.notify,
      linkFor: async (approval) => `${settings.publicUrl}/a/${await links.tokenFor(approval)}`,
    });
  const approvals = createOpenApprovals(agents, webhook?.isAnnounced);
  const followers = createFollowers({
    ...needs,
    read: (snapshot) => (snapshot === 'services' ? services() : approvals.snapshot()),
    feed: gateway && createVerdictFeed(gateway),
  });
  const onDecided = (decision: unknown): void => followers.send('decided', decision);
  const decisions = createDecisions({ ...needs, agents, approvals, onDecided });
  meter.watch(() => ({
    openApprovals: approvals.list().length,
    followers: followers.count(),
    services: services().length,
    servicesUp: services().filter(({ state }) => state === 'up').length,
  }));
  const onRequestsChange = (): void => {
    webhook?.announce(approvals.list());
    followers.mark('approvals');
    followers.mark('services');
  };
  return {
    ...{ clients, hide: needs.hide, links, approvals, followers, decisions },
    start(): void {
      webhook?.start(() => followers.mark('approvals'));
      for (const agent of agents) agent.start(onRequestsChange);
      for (const one of health) one.start(() => followers.mark('services'));
    },
    stop(): void {
      for (const one of [...agents, ...health]) one.stop();
      webhook?.stop();
      followers.stop();
    },
  };
};
