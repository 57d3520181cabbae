import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { HOSTILE } from '../../../src/demo/relay/records/secrets.ts';
import { describe } from '../../check.ts';
import { program, run } from '../processes.ts';
import type { RelayAdminProcess } from './process.ts';
import { CHANGING_CALLS, READING_CALLS, TOOLS } from './tool-calls.ts';
import { inWorld } from './world.ts';

/** What clients see of the tools. A wanted change is written with UPDATE_SNAPSHOT=1, and looked at before it is committed. */
const SNAPSHOT = join(import.meta.dirname, 'tools.json');

/** Every name in every schema. One more is something to look at: it is a thing that a model gives or is given. */
const NAMES =
  `account_id account_name accounts acknowledge_doubt admin_key advice after allows_model alphabet amount amount_decimals applied
  available balance balance_after balance_before balance_change balance_moved_otherwise balance_now before blocked_by by
  call_timeout_ms can changes channels code concurrency control created_at credit_sign data database earlier_recharges effect effects email
  examined expected expires_at first frozen_balance group_ids group_model_setting groups healthy history_row history_rows id
  idempotency_key largest_page_size largest_recharge last_used_at latency_ms limits list lists_model
  maps_model marker matching max_chars min_chars mode model model_in model_limits model_mapping name narrow not_exposed
  note options outcome path platform present preview_token preview_token_lifetime_s query rate_multiplier reachable
  read_routes reason reference relay_answer_bytes relay_host relay_replayed replayed resets_at restrict_models role
  rpm_limit rules schedulable scope seems_credited sent_at service shown source status summary text tool total truncated unlimited
  unread until used_at user user_id username value version warnings well_formed writers zero_means`.split(/\s+/);

const CLOSED_SETS = [
  '=gatehouse-relay-admin',
  'accounts|groups|channels',
  'last_schedulable_in_group|groups_not_checked',
  'lists_model|lists_others|none',
  'live|partly_live|static',
  'model_allowlist|models_list_config',
  'models_list_config|model_allowlist|default_mapped_model|model_routing',
  'no_answer|timed_out|redirected|server_error|unusable_answer|in_progress|retry_backoff|store_unavailable|refusal_unconfirmed|answer_not_recorded|history_unreadable|history_row_missing|history_value_differs|credited_more_than_once|user_unreadable',
  'not_read_back|reads_differently|no_usable_answer',
  'ok|failing|unknown',
  'read_write|read_only',
  'relay_said_so|history_row|balance_rose',
  'setup_pending|redirect|not_json|unexpected_json|too_large|connection_refused|dns_failure|tls_failure|timeout|connection_failed|database_failing',
  'status_not_active|expired|rate_limited|overloaded|temporarily_unschedulable|quota_used_up',
  'update_user_limits|set_account_schedulable|relay_admin_ui|nothing',
  'user_not_active|user_is_admin|large_amount|much_more_than_balance|running_usage|balance_rounded|earlier_recharge_credited|earlier_recharge_balance_rose|earlier_recharge_unknown',
  'user|user_in_group|group|user_and_platform|api_key|account|model|price',
  'verified|accepted_unverified',
  'verified|accepted_unverified|already_set',
];

type Schema = {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: unknown;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly enum?: readonly string[];
  readonly const?: unknown;
  readonly description?: string;
};
type Listed = {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: Schema;
  readonly outputSchema: Schema;
  readonly annotations: Readonly<Record<string, unknown>>;
};
type Part = { readonly at: string; readonly schema: Schema };

const partsOf = (schema: Schema, at: string): Part[] => [
  { at, schema },
  ...Object.entries(schema.properties ?? {}).flatMap(([name, part]) => partsOf(part, `${at}.${name}`)),
  ...(schema.items === undefined ? [] : partsOf(schema.items, `${at}[]`)),
  ...(schema.anyOf ?? []).flatMap((part) => partsOf(part, at)),
];
const allParts = (tools: readonly Listed[]): Part[] =>
  tools.flatMap(({ name, inputSchema, outputSchema }) => [
    ...partsOf(inputSchema, `${name} takes`),
    ...partsOf(outputSchema, `${name} gives`),
  ]);

/** The answer to `tools/list` as it stood on the wire. The same request each time, so that the same bytes are due. */
const listLine = async (admin: RelayAdminProcess): Promise<string> => {
  const before = admin.lines().length;
  admin.send({ id: 'list', method: 'tools/list', params: {} });
  await admin.ask('ping');
  const line = admin
    .lines()
    .slice(before)
    .find((text) => text.includes('"id":"list"'));
  return line ?? assert.unreachable('no list') ?? '';
};
const toolsIn = (line: string): readonly Listed[] => (JSON.parse(line) as { result: { tools: Listed[] } }).result.tools;
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

describe('the list of tools that the relay admin bundle publishes', (check) => {
  check(
    'is the one that was looked at, to the byte',
    inWorld(async ({ start }) => {
      const line = await listLine(start());
      const found = { sha256: sha256(line), tools: toolsIn(line) };
      if (process.env.UPDATE_SNAPSHOT === '1') {
        writeFileSync(SNAPSHOT, JSON.stringify(found));
        await run(program('biome'), ['format', '--write', SNAPSHOT]);
      }
      const known = JSON.parse(readFileSync(SNAPSHOT, 'utf8')) as typeof found;
      for (const [at, tool] of found.tools.entries())
        assert.is(JSON.stringify(tool, null, 1), JSON.stringify(known.tools[at], null, 1));
      assert.is(found.tools.length, known.tools.length);
      assert.is(found.sha256, known.sha256);
    }),
  );

  check(
    'is the same bytes at every start, after a hundred calls, over a hostile relay, and without a key',
    inWorld(async ({ start, control }) => {
      const first = start();
      const line = await listLine(first);
      await first.initialize();
      for (const [fault, times] of [
        ['html', 20],
        ['garbage', 20],
        ['echo-key-400', 20],
      ] as const)
        control.useRouteFault(fault, times);
      for (const account of control.accounts) account.name = HOSTILE.username;
      for (const group of control.groups) Object.assign(group, { name: HOSTILE.notes });
      control.setVersion(HOSTILE.notes);
      const calls = Array.from({ length: 100 }, (_, at) => [...READING_CALLS, ...CHANGING_CALLS][at % 8]);
      for (const [tool, given] of calls.flatMap((one) => (one === undefined ? [] : [one])))
        await first.call(tool, given);
      assert.is(await listLine(first), line);
      for (const key of ['', 'admin-nonsense']) {
        assert.is(await listLine(start({ variables: { RELAY_ADMIN_API_KEY: key } })), line);
      }
      assert.is(await listLine(start({ variables: { LOG_LEVEL: 'debug' } })), line);
    }),
  );

  check(
    'names nine tools in words that a model reads as they are meant',
    inWorld(async ({ start }) => {
      const tools = toolsIn(await listLine(start()));
      assert.equal(
        tools.map(({ name }) => name),
        [...TOOLS],
      );
      for (const { name, title, description, annotations } of tools) {
        assert.match(name, /^[a-z]+(?:_[a-z]+)*$/);
        assert.ok(name.length <= 32 && title.length > 0 && annotations.title === title, name);
        assert.ok(description.length >= 100 && description.length <= 1024, `${name}: ${description.length}`);
      }
      const texts = [
        ...tools.flatMap(({ title, description }) => [title, description]),
        ...allParts(tools).flatMap(({ schema }) => schema.description ?? []),
      ];
      for (const text of texts) {
        assert.match(text, /^[\x20-\x7e\n]*$/, 'plain ASCII has nothing that is not seen');
        assert.not.match(text, /<|\b(?:IMPORTANT|MUST|CRITICAL|NEVER|ALWAYS|WARNING)\b/);
      }
    }),
  );

  check(
    'says all four hints of every tool, and calls just the three writers writers',
    inWorld(async ({ start }) => {
      const hints = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'];
      const tools = toolsIn(await listLine(start()));
      for (const { name, annotations } of tools)
        assert.equal(
          hints.map((hint) => typeof annotations[hint]),
          hints.map(() => 'boolean'),
          name,
        );
      const writers = tools.filter(({ annotations }) => annotations.readOnlyHint === false);
      assert.equal(
        writers.map(({ name }) => name),
        ['recharge', 'update_user_limits', 'set_account_schedulable'],
      );
      for (const { annotations } of tools) assert.is(annotations.destructiveHint, !annotations.readOnlyHint);
    }),
  );

  check(
    'has closed objects everywhere but in the query of read, and nothing that some clients cannot read',
    inWorld(async ({ start }) => {
      const line = await listLine(start());
      const tools = toolsIn(line);
      const open = allParts(tools)
        .filter(({ schema }) => schema.type === 'object' && schema.additionalProperties !== false)
        .map(({ at }) => at);
      assert.equal(open, ['read takes.query']);
      for (const { inputSchema, outputSchema } of tools) {
        for (const schema of [inputSchema, outputSchema]) {
          assert.is(schema.type, 'object');
          assert.equal(
            ['anyOf', 'oneOf', 'allOf', 'not', '$schema'].filter((word) => Object.hasOwn(schema, word)),
            [],
          );
        }
      }
      assert.not.match(line, /"\$(?:ref|defs|id|schema)"/);
    }),
  );

  check(
    'holds no name and no set of words that was not looked at',
    inWorld(async ({ start }) => {
      const parts = allParts(toolsIn(await listLine(start())));
      const names = new Set(parts.flatMap(({ schema }) => Object.keys(schema.properties ?? {})));
      assert.equal([...names].sort(), NAMES);
      const sets = parts.flatMap(({ schema }) =>
        Object.hasOwn(schema, 'const')
          ? [`=${schema.const}`]
          : schema.enum === undefined
            ? []
            : [schema.enum.join('|')],
      );
      assert.equal([...new Set(sets)].sort(), CLOSED_SETS);
    }),
  );
});
