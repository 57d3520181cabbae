import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as v from 'valibot';
import { TracingVariables } from '../../src/adapter/opentelemetry/settings.ts';
import { AgentVariables } from '../../src/agent/settings.ts';
import { BridgeVariables } from '../../src/bridge/settings.ts';
import { ConsoleVariables } from '../../src/console/settings.ts';
import { isRecord } from '../../src/core/json.ts';
import { GatewayVariables } from '../../src/gateway/settings/variables.ts';
import { RelayVariables } from '../../src/relay-admin/settings.ts';
import { defaultOf, ROOT, read } from './pages.ts';

// Writes what the schemas know of a setting into the pages: its name, its default and what it takes. What it means stays
// as it is. `npm run docs` writes, docs-tables.test.ts refuses pages that were not written.

type Variables = Readonly<Record<string, v.GenericSchema>>;

const proxy = (rule: string) =>
  v.optional(
    v.pipe(
      v.string(),
      v.check(() => true, `expected ${rule}`),
    ),
  );

/** Each page with a table of variables, and what is read there. Those of proxies are read by an adapter, without a schema. */
export const TABLES: Readonly<Record<string, Variables>> = {
  'docs/moderation-gateway.md': {
    ...GatewayVariables.entries,
    HTTPS_PROXY: proxy('an address such as http://proxy.example:3128'),
    HTTP_PROXY: proxy('an address such as http://proxy.example:3128'),
    NO_PROXY: proxy('hosts, separated by commas'),
  },
  'docs/agent-server.md': AgentVariables.entries,
  'docs/bridge.md': BridgeVariables.entries,
  'docs/console.md': ConsoleVariables.entries,
  'docs/relay-admin.md': RelayVariables.entries,
  'docs/tracing.md': TracingVariables.entries,
};

const stepsOf = (schema: unknown): readonly unknown[] => {
  if (!isRecord(schema)) return [];
  if (isRecord(schema.wrapped)) return stepsOf(schema.wrapped);
  return Array.isArray(schema.pipe) ? schema.pipe : [];
};
const requirementOf = (steps: readonly unknown[], type: string): unknown =>
  steps.filter(isRecord).find((step) => step.type === type)?.requirement;

/** Addresses and what stands for something else are quoted: a page would make links and tags of them. */
const quoted = (rule: string): string => rule.replace(/(?:[^\s,;<]*<[^>]+>)+|[^\s,;]*:\/\/[^\s,;]*/g, '`$&`');

/** The rules of a pipe, those of the pipes in it first. Of several that one pipe has, the first one says what it takes. */
const rulesOf = (schema: unknown): readonly string[] => {
  const steps = stepsOf(schema).filter(isRecord);
  const inner = steps.filter((step) => Array.isArray(step.pipe)).flatMap(rulesOf);
  const own = steps.map(({ message }) => message).find((message) => typeof message === 'string');
  if (typeof own !== 'string') return inner;
  const rule = quoted(own.replace(/^expected /, ''));
  // One that begins as an inner rule does says that one too.
  return [...inner.filter((part) => !rule.startsWith(part)), rule];
};

/** What a schema takes, in few words; `text` where the schema has no rule. */
export const takenBy = (schema: unknown): string => {
  const steps = stepsOf(schema);
  const choice = steps.filter(isRecord).find(({ type }) => type === 'picklist');
  if (Array.isArray(choice?.options)) return choice.options.map((word) => `\`${word}\``).join(', ');
  const least = requirementOf(steps, 'min_value');
  const most = requirementOf(steps, 'max_value');
  if (least !== undefined) return `${least} to ${most}`;
  return rulesOf(schema).join('; ') || 'text';
};

const HEADER = ['| variable | default | takes | meaning |', '|---|---|---|---|'];
const ROW = /^\| `([A-Z][A-Z0-9_]+)` \| (?:.* \| )?([^|]*?) \|$/;
const TABLE = /^\| variable \| .*\n(?:\|.*\n)*/m;

const rowOf = (name: string, schema: v.GenericSchema, meaning: string): string => {
  const given = defaultOf(schema);
  const shown = given === 'none' || given === 'required' ? given : `\`${given}\``;
  return `| \`${name}\` | ${shown} | ${takenBy(schema)} | ${meaning} |`;
};

/**
 * The page with a table of just these variables. What is known keeps its place and its meaning; what is new comes last and
 * has none yet.
 */
export const withTable = (page: string, variables: Variables): string =>
  page.replace(TABLE, (table) => {
    const meanings = new Map(
      table.split('\n').flatMap((line) => {
        const [, name, meaning] = ROW.exec(line) ?? [];
        return name !== undefined && meaning !== undefined && name in variables ? [[name, meaning] as const] : [];
      }),
    );
    const names = [...meanings.keys(), ...Object.keys(variables).filter((name) => !meanings.has(name))];
    const rows = names.flatMap((name) => {
      const schema = variables[name];
      return schema === undefined ? [] : [rowOf(name, schema, meanings.get(name) ?? '')];
    });
    return `${[...HEADER, ...rows].join('\n')}\n`;
  });

/** The meaning of each variable in a page's table. */
export const meaningsIn = (page: string): ReadonlyMap<string, string> =>
  new Map(
    (TABLE.exec(page)?.[0] ?? '').split('\n').flatMap((line) => {
      const [, name, meaning] = ROW.exec(line) ?? [];
      return name !== undefined && meaning !== undefined ? [[name, meaning] as const] : [];
    }),
  );

if (import.meta.main) {
  for (const [file, variables] of Object.entries(TABLES)) {
    writeFileSync(join(ROOT, file), withTable(read(file), variables));
  }
}
