import type { ToolServerList, ToolServerRow } from '../../../protocol.ts';
import { Badge } from '../../parts/badge.tsx';
import { SafeLine } from '../../parts/safe-text.tsx';
import { Empty, Loaded } from '../../parts/states.tsx';
import { TableHead } from '../../parts/table-head.tsx';
import { Time } from '../../parts/time.tsx';
import { UnreadAgents } from '../../parts/unread-agents.tsx';
import { createResource } from '../../state/resource.ts';
import { useResource } from '../../state/resource-hook.ts';
import type { Tone } from '../../state/toasts.ts';
import { api } from '../../state/visitor.ts';
import { texts } from '../../texts.ts';

const { columns, states, ...words } = texts.toolServers;

const servers = createResource((abort) => api.get<ToolServerList>('/api/tools', abort));

const TONES: Readonly<Record<string, Tone>> = { connected: 'good', failed: 'bad', needs_auth: 'warning' };

const Row = ({ server: { agent, name, state, error, errorAt } }: { readonly server: ToolServerRow }) => (
  <tr>
    <td data-label={columns.name}>
      <SafeLine text={name} limit={120} />
    </td>
    <td data-label={columns.agent}>{words.agent(agent + 1)}</td>
    <td data-label={columns.state}>
      <span>
        <Badge tone={TONES[state] ?? 'plain'}>
          {Object.hasOwn(states, state) ? states[state] : <SafeLine text={state} limit={40} />}
        </Badge>
      </span>
    </td>
    <td data-label={columns.error}>
      {error === undefined ? (
        '–'
      ) : (
        <span>
          <SafeLine text={error} limit={400} />{' '}
          {errorAt === undefined ? null : (
            <span class="muted">
              (<Time at={errorAt} />)
            </span>
          )}
        </span>
      )}
    </td>
  </tr>
);

const Table = ({ rows }: { readonly rows: readonly ToolServerRow[] }) => (
  <table class="table stacked">
    <TableHead columns={[columns.name, columns.agent, columns.state, columns.error]} />
    <tbody>
      {rows.map((server) => (
        <Row key={`${server.agent}/${server.name}`} server={server} />
      ))}
    </tbody>
  </table>
);

/** The tool servers of all agent servers: whether they are connected, and what went wrong last. */
export const ToolServers = () => {
  useResource(servers);
  return (
    <Loaded resource={servers}>
      {({ servers: rows, unread }) => (
        <>
          <UnreadAgents agents={unread} sentence={words.unread} />
          {rows.length > 0 ? <Table rows={rows} /> : null}
          {rows.length === 0 && unread.length === 0 ? <Empty title={words.none} /> : null}
        </>
      )}
    </Loaded>
  );
};
