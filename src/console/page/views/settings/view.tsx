import { type Configurations, PARTS, type ServiceState } from '../../../protocol.ts';
import { Badge } from '../../parts/badge.tsx';
import { JsonValue } from '../../parts/json-value.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { SafeLine } from '../../parts/safe-text.tsx';
import { Empty, Loaded, Loading } from '../../parts/states.tsx';
import { TableHead } from '../../parts/table-head.tsx';
import { Time } from '../../parts/time.tsx';
import { UnreadAgents } from '../../parts/unread-agents.tsx';
import { services } from '../../state/live.ts';
import { createResource } from '../../state/resource.ts';
import { useResource } from '../../state/resource-hook.ts';
import { api, me, missingPart } from '../../state/visitor.ts';
import { texts } from '../../texts.ts';
import { ToolServers } from './tools.tsx';

const words = texts.settings;

const TONES = { up: 'good', 'not-ready': 'warning', down: 'bad' } as const;

const config = createResource((abort) => api.get<Configurations>('/api/config', abort));

/** Of several agent servers each has its number, as where their sessions are. */
const nameOf = (service: ServiceState, all: readonly ServiceState[]): string => {
  const { part } = service;
  const alike = all.filter((other) => other.part === part);
  return part === 'agent' && alike.length > 1
    ? texts.toolServers.agent(alike.indexOf(service) + 1)
    : (texts.services.names[part] ?? part);
};

const ServiceTable = () => {
  const all = services.value;
  if (all === undefined) return <Loading />;
  if (all.length === 0) return <Empty title={texts.services.none} />;
  return (
    <table class="table stacked">
      <TableHead
        columns={[
          words.columns.service,
          words.columns.state,
          words.columns.address,
          words.columns.since,
          words.columns.reason,
        ]}
      />
      <tbody>
        {all.map((one) => (
          <tr key={`${one.part} ${one.address ?? ''}`}>
            <td data-label={words.columns.service}>{nameOf(one, all)}</td>
            <td data-label={words.columns.state} class="reference">
              <Badge tone={TONES[one.state]}>{texts.services.states[one.state]}</Badge>
            </td>
            <td data-label={words.columns.address} class="roomy">
              <SafeLine text={one.address ?? texts.common.none} />
            </td>
            <td data-label={words.columns.since}>
              <Time at={one.since} />
            </td>
            <td data-label={words.columns.reason} class={one.reason === undefined ? 'nothing' : ''}>
              <SafeLine text={one.reason ?? '–'} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
};

const PartList = () => (
  <ul class="part-list">
    {PARTS.map((part) => {
      const missing = missingPart(part);
      return (
        <li key={part}>
          <strong>{texts.nav[part]}</strong>
          <Badge>{missing === undefined ? words.setUp : words.notSetUp}</Badge>
          {missing === undefined ? null : <span class="muted">{missing}</span>}
        </li>
      );
    })}
  </ul>
);

const AgentConfigurations = () => {
  useResource(config);
  return (
    <Loaded resource={config}>
      {({ agents, unread }) => (
        <>
          <UnreadAgents agents={unread} sentence={words.configUnread} />
          {agents.map(({ agent, config: ofAgent }) => (
            <div key={agent} class="stack">
              <h3 class="label">
                <SafeLine text={agent} limit={200} />
              </h3>
              <JsonValue value={ofAgent} />
            </div>
          ))}
        </>
      )}
    </Loaded>
  );
};

/** The services and their state, what is set up, and the agent's configuration without secrets. */
export const SettingsView = () => (
  <>
    <PageHead title={words.title} intro={words.version(me.value?.version ?? '')} />
    <div class="stack">
      <section class="card" aria-labelledby="services-title">
        <h2 id="services-title">{texts.services.label}</h2>
        <ServiceTable />
      </section>
      <section class="card" aria-labelledby="parts-title">
        <h2 id="parts-title">{words.parts}</h2>
        <PartList />
      </section>
      {missingPart('sessions') === undefined ? (
        <section class="card" aria-labelledby="tools-title">
          <h2 id="tools-title">{texts.toolServers.title}</h2>
          <ToolServers />
        </section>
      ) : null}
      {missingPart('sessions') === undefined ? (
        <section class="card" aria-labelledby="config-title">
          <h2 id="config-title">{words.config}</h2>
          <p class="muted">{words.configHint}</p>
          <AgentConfigurations />
        </section>
      ) : null}
    </div>
  </>
);
