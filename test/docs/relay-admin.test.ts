import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { errorTextFor } from '../../src/relay-admin/errors/error-text.ts';
import { ALLOWED_ROUTES } from '../../src/relay-admin/read/routes.ts';
import { RelayVariables, readRelayConfig } from '../../src/relay-admin/settings.ts';
import { describe } from '../check.ts';
import { EVERY_PROBLEM } from '../relay-admin/harness/every-error.ts';
import { createWorld, resultOf } from '../relay-admin/harness/world.ts';
import { decisions, defaultsOf, ROOT, read, tableOfVariables, unique } from './pages.ts';

const PAGE = read('docs/relay-admin.md');

/** The TypeScript files at a path, which may be one. */
const sourcesIn = (path: string): string[] =>
  path.endsWith('.ts')
    ? [path]
    : readdirSync(join(ROOT, path), { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.ts'))
        .map((name) => `${path}/${name}`);

type JsonSchema = Readonly<Record<string, unknown>>;

/** The words of every closed set in a schema, however deep. */
const choicesIn = (schema: unknown): string[] => {
  if (typeof schema !== 'object' || schema === null) return [];
  return Object.entries(schema).flatMap(([name, part]) =>
    name === 'enum' && Array.isArray(part) ? part.filter((word) => typeof word === 'string') : choicesIn(part),
  );
};
const namesIn = (schema: JsonSchema): string[] => Object.keys(schema.properties ?? {});

const TOOLS = createWorld().start().tools;
const toolNamed = (wanted: string) => {
  const tool = TOOLS.find(({ name }) => name === wanted);
  if (tool === undefined) throw new Error(`no tool ${wanted}`);
  return tool;
};

/** What the page says below a heading, up to the next one. */
const sectionOf = (heading: string): string => {
  const [, rest = ''] = PAGE.split(`\n${heading}\n`);
  return rest.split(/^#{2,3} /m)[0] ?? '';
};
const quotedIn = (text: string): ReadonlySet<string> =>
  new Set([...text.matchAll(/`([^`]+)`/g)].map(([, word = '']) => word));
/** The quoted words in the first cell of every row of the table that begins with this line. */
const firstCellsBelow = (header: string): string[] => {
  const [, rest = ''] = PAGE.split(`\n${header}`);
  const rows = rest.split('\n\n')[0]?.split('\n').slice(2) ?? [];
  return rows.flatMap((row) => [...quotedIn(row.split(' | ')[0] ?? '')]);
};
const reasonsOf = (tool: string): string[] => {
  const { properties } = toolNamed(tool).outputSchema as { properties?: JsonSchema };
  return choicesIn(properties?.reason);
};

describe('the page of the relay tools', (check) => {
  check('has the settings that they read, with their defaults', () => {
    assert.equal(tableOfVariables(sectionOf('## Settings')).sort(), defaultsOf(RelayVariables.entries).sort());
  });
  check('names no setting by another name, and no other page does', () => {
    const files = ['README.md', 'ARCHITECTURE.md', 'CHANGELOG.md', 'docs/relay-admin.md', ...decisions()];
    const named = files.flatMap((file) => [...read(file).matchAll(/\bRELAY_[A-Z_]*[A-Z]\b/g)].map(([name]) => name));
    const known = Object.keys(RelayVariables.entries);
    assert.ok(named.length > 20);
    assert.equal(
      unique(named).filter((name) => !known.includes(name)),
      [],
    );
  });
  check('has a part for each tool, in the order in which they are listed', () => {
    const parts = [...PAGE.matchAll(/^### `(\w+)`$/gm)].map(([, name]) => name);
    assert.equal(
      parts,
      TOOLS.map(({ name }) => name),
    );
  });
  for (const { name, inputSchema, outputSchema } of TOOLS) {
    check(`names what ${name} takes and gives`, () => {
      const quoted = quotedIn(sectionOf(`### \`${name}\``));
      // What the platform can limit is for the tool itself to tell.
      const choices =
        name === 'model_control_options'
          ? choicesIn((outputSchema.properties as JsonSchema).source)
          : choicesIn(outputSchema);
      const elsewhere = quotedIn(sectionOf('## Outcomes'));
      const untold = [...namesIn(inputSchema), ...namesIn(outputSchema), ...choices].filter(
        (word) => !quoted.has(word) && !elsewhere.has(word),
      );
      assert.equal(unique(untold), []);
    });
  }
  check('has every code of an error, with whether to try again', () => {
    const rowOf = (code: string, retry: string) => `${code} ${retry.replace(/^after_\w+s$/, 'after_Ns')}`;
    const rows = [...PAGE.matchAll(/^\| `([A-Z_]+)` \| `(no|same_call|after_\w+)` \|/gm)];
    const words = Object.values(EVERY_PROBLEM).flat().map(errorTextFor);
    assert.ok(rows.length > 25);
    assert.equal(
      rows.map(([, code = '', retry = '']) => rowOf(code, retry)).sort(),
      unique(words.map(({ code, retry }) => rowOf(code, retry))),
    );
  });
  check('shows an error in the form that they have', () => {
    const [, shown = ''] = /^ {4}([A-Z_]+: .*) Next: \.\.\.$/m.exec(PAGE) ?? [];
    assert.match(shown, /^AMOUNT_OVER_LIMIT: 20000 is above the limit of 10000 /);
    const { code, what, outcome, retry } = errorTextFor({ kind: 'amount-over-limit', amount: '20000', limit: '10000' });
    assert.is(shown, `${code}: ${what}. outcome=${outcome} retry=${retry}.`);
  });
  check('has every reason for which something is not verified', () => {
    assert.equal(firstCellsBelow('| `reason` of `recharge` |').sort(), reasonsOf('recharge').sort());
    for (const tool of ['update_user_limits', 'set_account_schedulable'])
      assert.equal(firstCellsBelow('| `reason` of a change |').sort(), reasonsOf(tool).sort());
    assert.ok(reasonsOf('recharge').length > 10);
  });
  check('has the routes that can be read', () => {
    const listed = [...sectionOf('## What read allows').matchAll(/^ {4}(\S+)$/gm)].map(([, route]) => route);
    assert.equal(listed, ALLOWED_ROUTES);
  });
  check('has the events of the log, with fields that there are', () => {
    const sources = [
      'src/relay-admin',
      'src/main/relay-admin.ts',
      'src/relay-admin/adapter/stdio.ts',
      'src/core/config.ts',
    ]
      .flatMap(sourcesIn)
      .map(read);
    const events = sources.flatMap((text) =>
      [...text.matchAll(/\blog\((?:'\w+'|level), '([a-z-]+)'/g)].map(([, event]) => `${event}`),
    );
    assert.equal(firstCellsBelow('| event | level | fields |').sort(), unique(events));
    const fields = [...sectionOf('## Logs').matchAll(/^\| `.*$/gm)].flatMap(([row]) => [
      ...quotedIn(row.split(' | ')[2] ?? ''),
    ]);
    const known = [...read('src/core/log.ts').matchAll(/readonly (\w+)\?:/g)].map(([, field]) => field);
    assert.ok(fields.length > 10);
    assert.equal(
      fields.filter((field) => !known.includes(field)),
      [],
    );
  });
  check('configures clients with settings that a start accepts, and rules that fit the tools', () => {
    const [generic, agent] = [...PAGE.matchAll(/```json\n([\s\S]*?)```/g)].map(([, text = '']) => JSON.parse(text));
    const given = generic.mcpServers['relay-admin'];
    const local = agent.mcp['relay-admin'];
    for (const variables of [given.env, local.environment]) {
      assert.equal(
        Object.keys(variables).filter((name) => !(name in RelayVariables.entries)),
        [],
      );
      const { timeoutMs, key } = readRelayConfig(variables);
      assert.equal([key.kind, local.timeout > timeoutMs], ['missing', true]);
    }
    assert.equal(agent.permission, { 'relay-admin_*': 'deny' });
    const rules = TOOLS.map(({ name, annotations }) => [
      `relay-admin_${name}`,
      annotations.readOnlyHint ? 'allow' : 'ask',
    ]);
    assert.equal(Object.entries(agent.agent.maintainer.permission).sort(), rules.sort());
  });
  check('shows the limits that describe shows', async () => {
    const { limits } = await resultOf(createWorld().start(), 'describe');
    const { idempotency_key, ...reported } = limits as { idempotency_key: Record<string, unknown> };
    assert.equal(reported, {
      call_timeout_ms: 30_000,
      largest_recharge: '10000',
      amount_decimals: 8,
      preview_token_lifetime_s: 300,
      largest_page_size: 100,
      relay_answer_bytes: 4 * 1024 * 1024,
    });
    const rows = sectionOf('## Limits');
    for (const row of [
      '| answer of the relay | 4 MiB;',
      '| page of `read` | 100 rows |',
      ', 8 decimals |',
      '| preview token | 5 minutes |',
    ])
      assert.ok(rows.includes(row), row);
    const { min_chars, max_chars, alphabet } = idempotency_key;
    assert.ok(
      sectionOf('### `recharge`').replaceAll('\n', ' ').includes(`${min_chars} to ${max_chars} of \`${alphabet}\``),
    );
  });
});
