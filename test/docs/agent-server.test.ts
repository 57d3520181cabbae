import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import type * as v from 'valibot';
import { createPrometheusAgentMetrics } from '../../src/agent/adapter/prometheus.ts';
import { readAgentConfig } from '../../src/agent/config/load.ts';
import { ConfigFile } from '../../src/agent/config/schema.ts';
import { unsupportedReason } from '../../src/agent/config/schema-values.ts';
import { AGENT_ERROR_RESPONSES, argumentsChanged, permissionDecided, storeFault } from '../../src/agent/http/errors.ts';
import { openApiDocument } from '../../src/agent/http/openapi.ts';
import { BUNDLED_ADAPTERS } from '../../src/agent/model/adapters.ts';
import { createIds } from '../../src/agent/protocol/ids.ts';
import { actionForAll } from '../../src/agent/protocol/permission-rules.ts';
import { decisionAbout } from '../../src/agent/protocol/permissions.ts';
import { PermissionReplyBody, PromptBody, SessionBody } from '../../src/agent/protocol/request-schemas.ts';
import { AgentVariables } from '../../src/agent/settings.ts';
import { STORE_TROUBLES, type StoreTrouble } from '../../src/agent/store/errors.ts';
import { TurnBody } from '../../src/agent/turns/body.ts';
import { REFUSALS, turnRefusal } from '../../src/agent/turns/refusals.ts';
import { BridgeVariables } from '../../src/bridge/settings.ts';
import type { CoreFault } from '../../src/core/fault.ts';
import { isRecord } from '../../src/core/json.ts';
import { RelayVariables } from '../../src/relay-admin/settings.ts';
import { permissionRequest } from '../agent/store/samples.ts';
import { describe } from '../check.ts';
import { decisions, defaultsOf, ROOT, read, tableOfVariables, unique } from './pages.ts';

const PAGE = read('docs/agent-server.md');

/** What the page says below a heading, up to the next one. */
const sectionOf = (heading: string): string => {
  const [, rest = ''] = PAGE.split(`\n${heading}\n`);
  return rest.split(/^#{2,3} /m)[0] ?? '';
};
const quotedIn = (text: string): string[] => [...text.matchAll(/`([^`]+)`/g)].map(([, word = '']) => word);
const flat = (text: string): string => text.replace(/\s+/g, ' ');
/** The quoted words in the first cells of all rows of a text. */
const firstCells = (text: string): string[] =>
  [...text.matchAll(/^\| ([^|]*`[^|]*) \|/gm)].flatMap(([, cell = '']) => quotedIn(cell));
const rowFor = (text: string, name: string): string =>
  text.split('\n').find((line) => line.startsWith('|') && quotedIn(line.split(' | ')[0] ?? '').includes(name)) ?? '';
const blocksOf = (language: string): string[] =>
  [...PAGE.matchAll(new RegExp(`^ *\`\`\`${language}\\n([\\s\\S]*?)^ *\`\`\``, 'gm'))].map(([, text = '']) => text);

type Names = { readonly effective: readonly string[]; readonly inert: readonly string[] };
const joined = (lists: readonly Names[]): Names => ({
  effective: lists.flatMap(({ effective }) => effective),
  inert: lists.flatMap(({ inert }) => inert),
});

/** Every path that a configuration may have, with `<id>` for what whoever writes it makes up. */
const namesIn = (schema: unknown, path: string): Names => {
  if (unsupportedReason(schema) !== undefined) return { effective: [], inert: [path] };
  if (!isRecord(schema)) return { effective: [], inert: [] };
  if (isRecord(schema.wrapped)) return namesIn(schema.wrapped, path);
  const below = (name: string) => (path === '' ? name : `${path}.${name}`);
  if (schema.type === 'variant' && Array.isArray(schema.options)) {
    return joined(schema.options.map((option: unknown) => namesIn(option, path)));
  }
  if (isRecord(schema.entries)) {
    const inner = Object.entries(schema.entries).map(([name, entry]) => namesIn(entry, below(name)));
    // Whatever else stands in it goes somewhere, too.
    return joined([
      ...inner,
      ...(schema.rest === undefined ? [] : [namesIn(schema.rest, below('<id>'))]),
      { effective: schema.type === 'loose_object' && /<id>$/.test(path) ? [path] : [], inert: [] },
    ]);
  }
  const value = schema.type === 'record' && isRecord(schema.value) ? schema.value : undefined;
  const isTable = value !== undefined && (isRecord(value.entries) || value.type === 'variant');
  return isTable ? namesIn(value, below('<id>')) : { effective: [path], inert: [] };
};

const SETTINGS = namesIn(ConfigFile, '');
const sameIds = (path: string): string => path.replace(/<\w+>/g, '<id>');
const PREFIXES = ['provider.<id>', 'provider.<id>.models.<key>', 'agent.<id>', 'mcp.<id>', 'command.<name>'];
const listedSettings = (): string[] => [
  ...firstCells(sectionOf('### Top level')),
  ...PREFIXES.flatMap((prefix) => firstCells(sectionOf(`### \`${prefix}\``)).map((name) => `${prefix}.${name}`)),
];

/** One fault of each kind: the compiler asks for the next one here. */
const FAULTS: { readonly [Kind in CoreFault['kind']]: Extract<CoreFault, { readonly kind: Kind }> } = {
  unauthorized: { kind: 'unauthorized' },
  'bad-input': { kind: 'bad-input', code: 'invalid_json', param: null, message: '' },
  'model-not-found': { kind: 'model-not-found', valid: [] },
  'not-found': { kind: 'not-found', hint: '' },
  conflict: { kind: 'conflict', message: '' },
  'method-not-allowed': { kind: 'method-not-allowed', allow: [] },
  'body-too-large': { kind: 'body-too-large', limitBytes: 1 },
  'body-too-slow': { kind: 'body-too-slow' },
  'unsupported-media-type': { kind: 'unsupported-media-type' },
  'rate-limited': { kind: 'rate-limited', retryAfterMs: 1 },
  unavailable: { kind: 'unavailable', message: '', retryAfterMs: 1 },
  overloaded: { kind: 'overloaded', retryAfterMs: 1 },
  'backend-timeout': { kind: 'backend-timeout' },
  'client-left': { kind: 'client-left' },
};
const rowOfReply = async (reply: Response): Promise<string> => {
  const text = await reply.text();
  return `${reply.status} ${text === '' ? 'none' : (JSON.parse(text) as { name: string }).name}`;
};

const sourcesIn = (directory: string): string[] =>
  readdirSync(join(ROOT, directory), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => read(`${directory}/${name}`));
const matchesIn = (texts: readonly string[], form: RegExp): string[] =>
  texts.flatMap((text) => [...text.matchAll(form)].map(([, word = '']) => word));

/** The routes as the page writes them, `GET /session/{id}`. */
const ROUTES = Object.entries((openApiDocument('0') as { paths: Record<string, object> }).paths).flatMap(
  ([path, methods]) => Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
);
const isRoute = (method: string, path: string): boolean =>
  ROUTES.some((route) => {
    const [routeMethod, pattern = ''] = route.split(' ');
    return routeMethod === method && new RegExp(`^${pattern.replace(/\{\w+\}/g, '[^/]+')}$`).test(path);
  });

type Call = { readonly method: string; readonly path: string; readonly body: string | undefined };
/** The curl lines of a page, those that go on in the next line put together. */
const callsIn = (page: string): Call[] =>
  [...page.replace(/ \\\n\s*/g, ' ').matchAll(/^\s*curl .*$/gm)]
    .map(([line]) => line)
    .filter((line) => line.includes(':4000/'))
    .map((line) => {
      const body = / -d '([^']*)'/.exec(line)?.[1];
      const path = /127\.0\.0\.1:4000(\/[^\s'"?]*)/.exec(line)?.[1] ?? '';
      return { method: / -X (\w+)/.exec(line)?.[1] ?? (body === undefined ? 'GET' : 'POST'), path, body };
    });
const schemaFor = (path: string): v.GenericSchema => {
  if (path === '/session') return SessionBody;
  if (path === '/gatehouse/turns') return TurnBody;
  return path.startsWith('/permission/') ? PermissionReplyBody : PromptBody;
};

/** What every fragment of a configuration is a part of. */
const REST = {
  provider: { here: { options: { baseURL: 'http://127.0.0.1/v1' }, models: { model: {} } } },
};
const withVariables = (text: string): Record<string, string> =>
  Object.fromEntries([...text.matchAll(/\{env:(\w+)\}/g)].map(([, name = '']) => [name, 'a-value']));
const configFrom = (text: string) => {
  const whole = text.includes('"provider"') ? '{}' : JSON.stringify(REST);
  const variables = { ...withVariables(text), AGENT_CONFIG: 'agent.json', AGENT_CONFIG_CONTENT: text };
  return readAgentConfig(variables, (path) => (path === 'agent.json' ? whole : undefined));
};

describe('the page of the agent server', (check) => {
  check('has the variables that it reads, with their defaults', () => {
    assert.equal(tableOfVariables(sectionOf('## Variables')).sort(), defaultsOf(AgentVariables.entries).sort());
  });
  check('names no variable by another name, and no other page does', () => {
    const files = ['README.md', 'ARCHITECTURE.md', 'CHANGELOG.md', 'docs/agent-server.md', ...decisions()];
    const named = files.flatMap((file) => matchesIn([read(file)], /\b((?:AGENT|RELAY)_[A-Z_]*[A-Z])\b/g));
    const known = [AgentVariables, BridgeVariables, RelayVariables].flatMap(({ entries }) => Object.keys(entries));
    assert.ok(named.length > 25);
    assert.equal(
      unique(named).filter((name) => !known.includes(name)),
      [],
    );
  });
  check('has every name of the configuration, and whether it does something', () => {
    assert.ok(SETTINGS.effective.length > 50);
    assert.equal(unique(listedSettings().map(sameIds)), unique(SETTINGS.effective.map(sameIds)));
    const [accepted = ''] = sectionOf('### Without effect').split('. The old');
    const inert = quotedIn(accepted).filter((name) => name !== 'setting-without-effect');
    assert.equal(unique(inert.map(sameIds)), unique(SETTINGS.inert.map(sameIds)));
  });
  check('has the defaults of the configuration', () => {
    const { permissionTimeoutMs, turnTimeoutMs, steps, toolOutput, compaction, providers } = configFrom('{}');
    const top = sectionOf('### Top level');
    assert.match(rowFor(top, 'turn_timeout'), `(${turnTimeoutMs})`);
    assert.match(rowFor(top, 'permission_timeout'), `(${permissionTimeoutMs})`);
    assert.match(rowFor(top, 'steps'), `(${steps})`);
    assert.match(rowFor(top, 'tool_output.max_lines'), `(${toolOutput.maxLines})`);
    assert.match(rowFor(top, 'tool_output.max_bytes'), `(${toolOutput.maxBytes})`);
    const { headerMs, gapMs, wholeMs } = providers.get('here')?.limits ?? {};
    const provider = sectionOf('### `provider.<id>`');
    assert.match(rowFor(provider, 'options.headerTimeout'), `(${headerMs})`);
    assert.match(rowFor(provider, 'options.chunkTimeout'), `(${gapMs})`);
    assert.match(rowFor(provider, 'options.timeout'), wholeMs === 0 ? '(none)' : `(${wholeMs})`);
    assert.match(rowFor(top, 'compaction.auto'), `(${compaction.isAuto})`);
    const { mcp } = configFrom('{"mcp":{"one":{"type":"remote","url":"http://127.0.0.1/"}}}');
    assert.match(rowFor(sectionOf('### `mcp.<id>`'), 'timeout'), `(${mcp.get('one')?.timeoutMs})`);
    for (const adapter of BUNDLED_ADAPTERS)
      assert.ok(sectionOf('## Providers and models').includes(`| \`${adapter}\``));
  });
  check('has the agents that there are without a word of the file', () => {
    const agents = [...configFrom('{}').agents.values()].map(({ name, mode, isHidden }) => [
      name,
      isHidden ? 'hidden' : mode,
    ]);
    const rows = [...sectionOf('## Agents').matchAll(/^\| (`.*`) \| (\w+) \|/gm)];
    assert.equal(
      rows.flatMap(([, names = '', mode]) => quotedIn(names).map((name) => [name, mode])),
      agents,
    );
  });
  check('shows configurations that a start accepts', () => {
    const blocks = blocksOf('json');
    assert.ok(blocks.length >= 3);
    for (const block of blocks) assert.equal(configFrom(block).warnings, [], block);
    const [inline = ''] = matchesIn([sectionOf('## Start')], /^AGENT_CONFIG_CONTENT='([^']*)'/gm);
    assert.equal(configFrom(inline).defaultModel, { providerID: 'local', modelID: 'gpt-oss:20b' });
  });
  check('reports truly what comes of rules that are given beside a file', () => {
    const readFile = () => JSON.stringify({ ...REST, permission: { 'relay-admin_*': 'deny' } });
    const rulingWith = (content: string) => {
      const { rules } = readAgentConfig({ AGENT_CONFIG_CONTENT: content }, readFile);
      return actionForAll(rules, 'relay-admin_recharge', ['*']);
    };
    const reported = flat(sectionOf('## Configuration'));
    for (const content of ['"permission": {"*": "allow"}', '"permission": "allow"']) {
      assert.ok(reported.includes(`\`${content}\``), content);
      assert.is(rulingWith(`{${content}}`), 'allow');
    }
    assert.is(rulingWith('{}'), 'deny');
  });
  check('shows the way to the maintainer with the variables that the example takes', () => {
    const example = read('agent.example.json');
    const section = sectionOf('## The maintainer');
    const config = readAgentConfig({ ...withVariables(example), AGENT_CONFIG: 'x' }, () => example);
    for (const name of Object.keys(withVariables(example))) assert.ok(section.includes(`${name}=`), name);
    const ruling = (agent: string, tool: string, pattern = '*') =>
      actionForAll(config.agents.get(agent)?.rules ?? [], tool, [pattern]);
    for (const tool of ['recharge', 'update_user_limits', 'set_account_schedulable'])
      assert.is(ruling('maintainer', `relay-admin_${tool}`), 'ask');
    for (const tool of ['describe', 'health', 'read', 'find_user', 'preview_recharge', 'model_control_options'])
      assert.is(ruling('maintainer', `relay-admin_${tool}`), 'allow');
    assert.is(ruling('maintainer', 'task', 'general'), 'deny');
    for (const agent of ['build', 'plan']) {
      assert.is(ruling(agent, 'relay-admin_read'), 'deny');
      assert.equal([ruling(agent, 'task', 'maintainer'), ruling(agent, 'task', 'general')], ['allow', 'deny']);
    }
  });
  check('has the routes that there are', () => {
    assert.equal(unique(firstCells(sectionOf('## Routes'))), unique(ROUTES));
  });
  check('shows calls of routes that there are, with bodies that they take, as the README does', () => {
    const calls = [...callsIn(PAGE), ...callsIn(read('README.md'))];
    assert.ok(calls.length >= 10);
    for (const { method, path, body } of calls) {
      assert.ok(isRoute(method, path), `${method} ${path}`);
      if (body !== undefined) {
        const { issues } = schemaFor(path)['~run']({ value: JSON.parse(body) }, {});
        assert.is(issues, undefined, body);
      }
    }
  });
  check('has the errors that the service answers with, under their status', async () => {
    const { forFault, forBug } = AGENT_ERROR_RESPONSES;
    const troubles = Object.keys(STORE_TROUBLES) as StoreTrouble[];
    const ofStore = troubles.map((trouble) => forFault(storeFault(trouble).detail));
    const decision = decisionAbout(permissionRequest('per_1'), { reply: 'once' }, 5);
    const ofPermissions = [permissionDecided(decision), argumentsChanged()].map(({ detail }) => forFault(detail));
    const codes = Object.keys(REFUSALS) as (keyof typeof REFUSALS)[];
    const ofTurns = codes.map((code) => forFault(turnRefusal(code).detail));
    const replies = [...Object.values(FAULTS).map(forFault), ...[...ofStore, ...ofPermissions, ...ofTurns, forBug()]];
    const rows = [...sectionOf('## Errors').matchAll(/^\| ([45]\d\d) \| (?:`(\w+)`|none) \|/gm)];
    assert.equal(
      unique(rows.map(([, status, name]) => `${status} ${name ?? 'none'}`)),
      unique(await Promise.all(replies.map(rowOfReply))),
    );
  });
  check('has the codes of bad input, and of a store that does not work', () => {
    const sources = [...sourcesIn('src/agent'), read('src/core/http/body.ts'), read('src/core/http/router.ts')];
    const codes = matchesIn(sources, /\bcode: '([a-z_]+)'/g);
    // Two of them are made of the name of what is not known.
    const named = matchesIn(sources, /\bbad\('(agent|model)',/g).map((name) => `unknown_${name}`);
    const [, table = ''] = sectionOf('## Errors').split('| code of a 400, of a permission request |');
    assert.ok(named.length === 2);
    assert.equal(unique(firstCells(table)), unique([...codes, ...named]));
  });
  check('has the codes of refused requests for turns, and the fields of those', () => {
    const [, table = ''] = sectionOf('## Turns').split('| code of a refused request |');
    assert.equal(unique(firstCells(table)), unique(Object.keys(REFUSALS)));
    const [fields = ''] = sectionOf('## Turns').split('| code of a refused request |');
    assert.equal(unique(firstCells(fields)), unique(Object.keys(TurnBody.entries).filter((name) => name !== 'by')));
  });
  check('has the failures of a turn that there are', () => {
    const names = matchesIn(
      [read('src/agent/turn/errors.ts'), read('src/agent/session/run-queue.ts')],
      /\bname: '(\w+)'/g,
    );
    assert.ok(names.length > 5);
    assert.equal(unique(firstCells(sectionOf('### Failures of a turn'))), unique(names));
  });
  check('has the events that there are', () => {
    const types = matchesIn([read('src/agent/protocol/events.ts')], /'([a-z]+(?:\.[a-z]+)+)'/g);
    assert.ok(types.length > 10);
    assert.equal(unique(firstCells(sectionOf('## Events'))), unique(types));
  });
  check('has what a stream needs itself', () => {
    const types = matchesIn([read('src/agent/http/events.ts')], /\breadonly type: '([a-z.]+)'/g);
    assert.ok(types.length === 5);
    const reported = sectionOf('## Events');
    for (const type of types) assert.ok(reported.includes(`\`${type}\``), type);
  });
  check('has what a tool server may be', () => {
    const statuses = matchesIn([read('src/agent/tools/mcp/connection.ts')], /readonly status: '(\w+)'/g);
    assert.ok(statuses.length === 4);
    assert.equal(unique(firstCells(sectionOf('## Tool servers'))), unique(statuses));
  });
  check('has the events of the log', () => {
    const sources = [
      ...sourcesIn('src/agent'),
      ...['src/main/agent.ts', 'src/core/config.ts', 'src/core/http/handler.ts', 'src/adapter/node/service.ts'].map(
        read,
      ),
    ];
    const events = matchesIn(sources, /\blog\((?:'\w+'|level), '([a-z-]+)'/g);
    assert.ok(events.length > 10);
    assert.equal(unique(firstCells(sectionOf('## Logs'))), unique(events));
  });
  check('has the metrics that there are', async () => {
    const text = (await createPrometheusAgentMetrics('0').text()) ?? '';
    const names = matchesIn([text], /^# TYPE (gatehouse_\w+)/gm);
    assert.ok(names.length > 10);
    assert.equal(unique(firstCells(sectionOf('## Metrics'))), unique(names));
  });
  check('reports when the time in an id starts again', () => {
    const [, day, time] = /next on (\d+ \w+ \d{4}) at ([\d:]+) UTC/.exec(flat(PAGE)) ?? [];
    const minute = Date.parse(`${day} ${time} UTC`);
    const idAt = (now: number) =>
      createIds({ now: () => now, after: () => () => {} }, (count) => new Uint8Array(count))('message');
    assert.ok(idAt(minute + 60_000) < idAt(minute - 60_000));
    assert.ok(idAt(minute - 60_000) > idAt(Date.parse('2026-11-21')));
  });
});
