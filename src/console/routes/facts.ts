import { Fault } from '../../core/fault.ts';
import type { RouteTable } from '../../core/http/router.ts';
import { isRecord } from '../../core/json.ts';
import { isSecretName, REDACTED, withoutSecrets } from '../../core/redact.ts';
import { redactedLine, visibleLine } from '../../core/text.ts';
import type { Configurations, ToolServerList, ToolServerRow } from '../protocol.ts';
import { NO_RECHARGES } from '../recharges/recharge-lists.ts';
import type { createRechargeReading } from '../recharges/recharge-reading.ts';
import { askEveryAgent } from '../services/every-agent.ts';
import { type ApiContext, reading, requireSet } from './context.ts';

/** Reads the recharges; undefined where no journal is set. */
type ReadRecharges = ReturnType<typeof createRechargeReading> | undefined;

const TEXT_CHARS = 300;
const JOURNAL_HINTS: Readonly<Record<string, string>> = {
  ENOENT: 'its folder is not there: check RELAY_JOURNAL, and that the folder of the relay admin is mounted here',
  ENOTREG: 'RELAY_JOURNAL names a folder, or something else that is no file',
};
/** What stands in these may be a secret whatever its name. */
const SECRET_PLACES = /^(?:env|environment|headers)$/i;

/** A configuration without its secrets. The agent server has taken them out already; a second filter costs nothing. */
const withoutSecretValues = (value: unknown, isSecret = false): unknown => {
  if (typeof value === 'string') return isSecret && value !== '' ? REDACTED : withoutSecrets(value);
  if (Array.isArray(value)) return value.map((item) => withoutSecretValues(item, isSecret));
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => {
      const isHidden = isSecret || SECRET_PLACES.test(name) || isSecretName(name);
      return [name, withoutSecretValues(inner, isHidden)];
    }),
  );
};

const textIn = (value: Readonly<Record<string, unknown>>, name: string): string | undefined => {
  const found = value[name];
  return typeof found === 'string' ? redactedLine(found, TEXT_CHARS) : undefined;
};

const toToolServer = (agent: number, name: string, value: unknown): ToolServerRow => {
  const status = isRecord(value) ? value : {};
  const last = isRecord(status.lastError) ? status.lastError : {};
  const error = textIn(status, 'error') ?? textIn(last, 'message');
  return {
    agent,
    name,
    state: textIn(status, 'status') ?? 'unknown',
    ...(error === undefined ? {} : { error }),
    ...(typeof last.at === 'number' ? { errorAt: last.at } : {}),
  };
};

/** What there is to look at beside sessions: tool servers, the configuration and recharges. */
export const createFactRoutes = (context: ApiContext, readRecharges: ReadRecharges): RouteTable => {
  const { reply, parts } = context;
  const { agents } = context.clients;
  const askAll = (path: string, signal: AbortSignal) => {
    requireSet(agents[0], parts.sessions);
    return askEveryAgent(agents, async (client) => (await client.ask({ method: 'GET', path }, signal)).value);
  };
  return {
    '/api/tools': {
      GET: reading(context, 'viewer', async ({ signal }) => {
        const { values, unread } = await askAll('/mcp', signal);
        const servers = values.flatMap((value, agent) =>
          Object.entries(isRecord(value) ? value : {}).map(([name, status]) => toToolServer(agent, name, status)),
        );
        return reply.json({ servers, unread } satisfies ToolServerList);
      }),
    },
    '/api/config': {
      GET: reading(context, 'viewer', async ({ signal }) => {
        const { values, unread } = await askAll('/config', signal);
        const agentsShown = values.flatMap((value, agent) =>
          unread.includes(agent) ? [] : [{ agent: agents[agent]?.address ?? '', config: withoutSecretValues(value) }],
        );
        return reply.json({ agents: agentsShown, unread } satisfies Configurations);
      }),
    },
    '/api/recharges': {
      GET: reading(context, 'viewer', async () => {
        const journal = await requireSet(readRecharges, parts.recharges)();
        if ('code' in journal) {
          const hint = JOURNAL_HINTS[journal.code] ?? 'check RELAY_JOURNAL, and that this user may read the file';
          const message = `The journal cannot be read (${journal.code}): ${hint}`;
          throw new Fault({ kind: 'unavailable', message, retryAfterMs: 10_000 });
        }
        if ('lists' in journal) return reply.json(journal.lists);
        // Before the first recharge there is no file. Or its name is mistyped: so the page says which one is looked for.
        return reply.json({ ...NO_RECHARGES, missingFile: visibleLine(journal.missingFile, TEXT_CHARS) });
      }),
    },
  };
};
