import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { ErrorCode, McpError } from '@modelcontextprotocol/sdk/types.js';
import * as assert from 'uvu/assert';
import { describe, rejection } from '../../check.ts';
import type { ToolResult } from './process.ts';
import { CHANGING_CALLS, type NamedCall, READING_CALLS, TOOLS } from './tool-calls.ts';
import { inWorld, keyNumber, type RelayAdminWorld, rechargesSeen } from './world.ts';

const SENTENCE = /^([A-Z]+(?:_[A-Z]+)*): \S.*\. outcome=(not_applied|unknown) retry=(\S+)\. Next: \S.*/;

/** Calls through the client, which rejects when the answer is not of the shape that the tool has published. */
const call = async (client: Client, name: string, given: object = {}): Promise<ToolResult> =>
  (await client.callTool({ name, arguments: { ...given } })) as ToolResult;

/** The structured result, which the text must say too. */
const resultOf = async (...asked: Parameters<typeof call>) => {
  const { content, structuredContent = {}, isError } = await call(...asked);
  assert.is(isError ?? false, false, `${asked[1]}: ${content[0]?.text}`);
  assert.is(content.length, 1);
  assert.equal(JSON.parse(content[0]?.text ?? ''), structuredContent);
  return structuredContent;
};

/** The code of a failure, which must be a sentence of ours and nothing else. */
const codeOf = async (...asked: Parameters<typeof call>): Promise<string> => {
  const result = await call(...asked);
  const text = result.content[0]?.text ?? '';
  assert.equal([result.isError, result.content.length, result.structuredContent], [true, 1, undefined], asked[1]);
  assert.ok(text.length <= 600, text);
  const found = SENTENCE.exec(text);
  assert.ok(found, `no sentence: ${text}`);
  return found?.[1] ?? '';
};

/** A client that holds every result against the schema of its tool. */
const listed = async ({ connect }: RelayAdminWorld, more?: Readonly<Record<string, string>>): Promise<Client> => {
  const client = await connect(more);
  const { tools } = await client.listTools();
  const checked = client as unknown as { getToolOutputValidator: (tool: string) => unknown };
  for (const { name } of tools) assert.type(checked.getToolOutputValidator(name), 'function', name);
  return client;
};

describe('the relay admin bundle and the official client', (check) => {
  check(
    'agree on a version, and the client finds nine tools and nothing else',
    inWorld(async (world) => {
      const client = await listed(world);
      assert.equal(client.getServerVersion()?.name, 'relay-admin');
      assert.equal(client.getServerCapabilities(), { tools: { listChanged: false } });
      assert.match(client.getInstructions() ?? '', 'Call describe first');
      const { tools, nextCursor } = await client.listTools();
      assert.equal([tools.map(({ name }) => name), nextCursor], [[...TOOLS], undefined]);
      await client.ping();
    }),
  );

  check(
    'take a wish from an e-mail to a verified credit',
    inWorld(async (world) => {
      const client = await listed(world);
      const { user } = (await resultOf(client, 'find_user', { email: 'Alice@example.com' })) as {
        user: { id: number };
      };
      const preview = await resultOf(client, 'preview_recharge', { user_id: user.id, amount: '12.5' });
      assert.equal([preview.balance_now, preview.balance_after], ['12.5', '25']);
      const pair = { preview_token: preview.preview_token, idempotency_key: keyNumber(1) };
      const recharged = await resultOf(client, 'recharge', pair);
      assert.equal(
        [recharged.outcome, recharged.reason, recharged.amount, recharged.balance_after, recharged.replayed],
        ['verified', null, '12.5', '25', false],
      );
      assert.equal(await resultOf(client, 'recharge', pair), { ...recharged, replayed: true });
      assert.is(await codeOf(client, 'recharge', { ...pair, idempotency_key: keyNumber(2) }), 'IDEMPOTENCY_CONFLICT');
      assert.is(rechargesSeen(world.control).length, 1);
      assert.equal(
        world.control.credits().map(({ userId, amount, idempotencyKey }) => [userId, amount, idempotencyKey]),
        [[user.id, '12.5', keyNumber(1)]],
      );
    }),
  );

  check.thorough(
    'agree on the result of every other tool',
    inWorld(async (world) => {
      const client = await listed(world);
      for (const [tool, given] of [...READING_CALLS, ...CHANGING_CALLS]) await resultOf(client, tool, given);
      // A second time there is nothing left to change, which is a result as well.
      for (const [tool, given] of CHANGING_CALLS)
        assert.is((await resultOf(client, tool, given)).outcome, 'already_set', tool);
    }),
  );

  const REFUSED: readonly (readonly [code: string, ...NamedCall])[] = [
    ...TOOLS.map((tool) => ['INVALID_ARGUMENT', tool, { api_key: 'x' }] as const),
    ['INVALID_ARGUMENT', 'preview_recharge', { user_id: 2, amount: 12.5 }],
    ['INVALID_ARGUMENT', 'preview_recharge', { user_id: 2, amount: '1e3' }],
    ['INVALID_ARGUMENT', 'find_user', { email: 'alice' }],
    ['INVALID_ARGUMENT', 'recharge', { preview_token: 'rp1', idempotency_key: 'short' }],
    ['INVALID_ARGUMENT', 'update_user_limits', { user_id: 2, rpm_limit: 0 }],
    ['INVALID_ARGUMENT', 'set_account_schedulable', { account_id: 1, schedulable: 'true' }],
    ['ROUTE_NOT_ALLOWED', 'read', { path: 'settings/admin-api-key' }],
    ['NOT_FOUND', 'read', { path: 'users/999' }],
    ['NOT_FOUND', 'find_user', { email: 'nobody@example.com' }],
    ['NOT_FOUND', 'preview_recharge', { user_id: 999, amount: '1' }],
    ['NOT_FOUND', 'update_user_limits', { user_id: 999, rpm_limit: 1 }],
    ['NOT_FOUND', 'set_account_schedulable', { account_id: 999, schedulable: true }],
    ['AMBIGUOUS_USER', 'find_user', { email: 'dave@example.com' }],
    ['AMOUNT_OVER_LIMIT', 'preview_recharge', { user_id: 2, amount: '10000.00000001' }],
    ['CONFIRM_TOKEN_UNKNOWN', 'recharge', { preview_token: 'rp1.2.1.1.0.0.0', idempotency_key: keyNumber(1) }],
    ['NOT_AS_EXPECTED', 'update_user_limits', { user_id: 2, rpm_limit: 9, expected: { rpm_limit: 8 } }],
  ];
  check(
    'agree that a failure is a result that says so, in one sentence with a code, an outcome and a next step',
    inWorld(async (world) => {
      const client = await listed(world);
      for (const [code, tool, given] of REFUSED)
        assert.is(await codeOf(client, tool, given), code, `${tool} ${JSON.stringify(given)}`);
      assert.equal(
        world.control.requests().filter(({ method }) => method !== 'GET'),
        [],
      );
    }),
  );

  const FAILURES = [
    ['unauthorized', 'UPSTREAM_AUTH'],
    ['terms', 'TERMS_NOT_ACCEPTED'],
    ['redirect-307', 'UPSTREAM_REDIRECT'],
    ['html', 'UPSTREAM_CONTRACT'],
    ['garbage', 'UPSTREAM_CONTRACT'],
    ['huge', 'UPSTREAM_CONTRACT'],
    ['bomb', 'UPSTREAM_CONTRACT'],
    ['drop', 'UPSTREAM_UNAVAILABLE'],
    ['internal', 'UPSTREAM_UNAVAILABLE'],
    ['rate-limited', 'UPSTREAM_RATE_LIMIT'],
  ] as const;
  check.thorough(
    'agree on the answers of a failing relay',
    inWorld(async (world) => {
      const client = await listed(world);
      for (const [fault, code] of FAILURES) {
        world.control.useRouteFault(fault, 1000);
        for (const tool of ['read', 'find_user', 'preview_recharge', 'update_user_limits'] as const) {
          const [, given = {}] = [...READING_CALLS, ...CHANGING_CALLS].find(([name]) => name === tool) ?? [];
          assert.is(await codeOf(client, tool, given), code, `${fault} ${tool}`);
        }
        await resultOf(client, 'health');
        await resultOf(client, 'model_control_options', {});
        world.control.clearFaults();
      }
    }),
  );

  check.thorough(
    'know a tool that does not exist for a mistake of the program, and name those that do',
    inWorld(async (world) => {
      const client = await world.connect();
      const error = await rejection(client.callTool({ name: 'delete_user', arguments: {} }));
      assert.instance(error, McpError);
      assert.is((error as McpError).code, ErrorCode.InvalidParams);
      for (const tool of TOOLS) assert.match((error as McpError).message, tool);
    }),
  );

  check(
    'find out what came of a recharge for which the client had no patience',
    inWorld(async (world) => {
      const client = await listed(world);
      const { preview_token } = await resultOf(client, 'preview_recharge', { user_id: 2, amount: '3' });
      const given = { preview_token, idempotency_key: keyNumber(1) };
      world.control.setDelayMs(700);
      world.control.useFault('late');
      const error = await rejection(
        client.callTool({ name: 'recharge', arguments: given }, undefined, { timeout: 300 }),
      );
      assert.is((error as McpError).code, ErrorCode.RequestTimeout);
      const { outcome, replayed } = await resultOf(client, 'recharge', given);
      assert.equal([outcome, replayed], ['verified', true]);
      assert.equal([rechargesSeen(world.control).length, world.control.credits().length], [1, 1]);
    }),
  );
});
