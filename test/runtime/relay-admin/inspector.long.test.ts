import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { bundle, program, run } from '../processes.ts';
import { CHANGING_CALLS, type NamedCall, READING_CALLS, TOOLS } from './tool-calls.ts';
import { inWorld, keyNumber, type RelayAdminWorld } from './world.ts';

/** Exit codes that the inspector documents. */
const DONE = 0;
const TOOL_ERROR = 5;

type Inspected = {
  readonly result?: {
    readonly tools?: readonly { readonly name: string }[];
    readonly content?: readonly { readonly text: string }[];
    readonly structuredContent?: Readonly<Record<string, unknown>>;
    readonly isError?: boolean;
    readonly ok?: number;
  };
};
type Seen = Inspected & { readonly code: number | null; readonly stderr: string };

/** Runs the inspector's command with a home of its own, so that it finds and leaves nothing in anybody else's. */
const inspect = async ({ directory }: RelayAdminWorld, ...words: readonly string[]): Promise<Seen> => {
  const variables = { HOME: directory, MCP_INSPECTOR_SECRET_STORE: 'memory' };
  const { code, stdout, stderr } = await run(program('mcp-inspector'), ['--cli', ...words, '--format', 'json'], {
    directory,
    variables,
  });
  return { ...(stdout === '' ? {} : (JSON.parse(stdout) as Inspected)), code, stderr };
};

/** The words that name this server: a file as clients of all kinds have one. */
const serverIn = ({ directory, settings }: RelayAdminWorld): readonly string[] => {
  const file = join(directory, 'mcp.json');
  const relay = { command: process.execPath, args: [bundle('relay-admin.js')], env: settings() };
  writeFileSync(file, JSON.stringify({ mcpServers: { relay } }));
  return ['-q', '--config', file, '--server', 'relay'];
};

const callWith =
  (world: RelayAdminWorld) =>
  (...[tool, given]: NamedCall): Promise<Seen> =>
    inspect(
      world,
      ...serverIn(world),
      ...['--method', 'tools/call', '--tool-name', tool],
      '--tool-args-json',
      JSON.stringify(given),
    );

describe('the relay admin bundle in the hands of the MCP inspector', (check) => {
  check(
    'is listed, with variables from the command line, and its schemas are ones that every client can read',
    inWorld(async (world) => {
      const variables = Object.entries(world.settings()).flatMap(([name, value]) => ['-e', `${name}=${value}`]);
      const words = [process.execPath, bundle('relay-admin.js'), '--method', 'tools/list', '--strict', ...variables];
      const { code, result, stderr } = await inspect(world, ...words);
      assert.is(code, DONE, stderr);
      assert.equal(
        result?.tools?.map(({ name }) => name),
        [...TOOLS],
      );
      assert.match(stderr, /\b0 errors\b/);
    }),
  );

  check(
    'answers a call of each tool',
    inWorld(async (world) => {
      const call = callWith(world);
      for (const [tool, given] of [...READING_CALLS, ...CHANGING_CALLS]) {
        const { code, result, stderr } = await call(tool, given);
        assert.equal([code, stderr, result?.isError], [DONE, '', undefined], tool);
        assert.equal(JSON.parse(result?.content?.[0]?.text ?? ''), result?.structuredContent);
      }
      const { result } = await call('preview_recharge', { user_id: 2, amount: '12.5' });
      const { preview_token } = result?.structuredContent ?? {};
      // Each call has a process of its own, so the journal is all that they share.
      const pair = { preview_token, idempotency_key: keyNumber(1) };
      for (const replayed of [false, true]) {
        const recharged = await call('recharge', pair);
        assert.is(recharged.code, DONE, recharged.stderr);
        assert.equal(
          [recharged.result?.structuredContent?.outcome, recharged.result?.structuredContent?.replayed],
          ['verified', replayed],
        );
      }
      assert.is(world.control.credits().length, 1);
    }),
  );

  check(
    'fails as a tool does, and not as a server',
    inWorld(async (world) => {
      const call = callWith(world);
      const refused = await call('preview_recharge', { user_id: 2, amount: '999999' });
      assert.equal([refused.code, refused.result?.isError], [TOOL_ERROR, true]);
      assert.match(refused.result?.content?.[0]?.text ?? '', /^AMOUNT_OVER_LIMIT: /);
      assert.match(refused.stderr, '"tool_is_error"');
      const unknown = await call('delete_user', {});
      assert.is(unknown.code, TOOL_ERROR);
      assert.match(unknown.stderr, '"tool_not_found"');
    }),
  );

  check(
    'takes fifty calls, five at a time',
    inWorld(async (world) => {
      const { code, result } = await inspect(
        world,
        ...serverIn(world),
        ...['--method', 'tools/call', '--tool-name', 'read', '--tool-args-json', '{"path":"system/version"}'],
        ...['--load', '--load-requests', '50', '--load-concurrency', '5'],
      );
      assert.equal([code, result?.ok], [DONE, 50]);
    }),
  );
});
