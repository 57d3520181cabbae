import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { bundle, program, run } from '../processes.ts';
import { type Bridge, bridgeToHttp } from './stdio-to-http.ts';
import { inWorld, type RelayAdminWorld } from './world.ts';

type Verdict = { readonly id: string; readonly status: string; readonly errorMessage?: string };

/** Whatever the suite itself might open is for this machine alone. */
const LOOPBACK_ONLY = `data:text/javascript,${encodeURIComponent(`import { Server } from 'node:net';
const { listen } = Server.prototype;
Server.prototype.listen = function (...given) {
  if (typeof given[0] === 'number') given.splice(1, typeof given[1] === 'string' ? 1 : 0, '127.0.0.1');
  return listen.apply(this, given);
};`)}`;

/** Runs one scenario of the official suite, and reads the verdicts that it leaves behind. */
const verdictsOn = async ({ url }: Bridge, { directory }: RelayAdminWorld, scenario: string) => {
  const results = mkdtempSync(join(directory, 'conformance-'));
  const words = ['server', '--url', url, '--scenario', scenario, '--spec-version', '2025-11-25', '-o', results];
  const variables = { NODE_OPTIONS: `--import "${LOOPBACK_ONLY}"` };
  const { code, stdout, stderr } = await run(program('conformance'), words, { directory, variables });
  const [file] = readdirSync(results, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('checks.json'),
  );
  assert.ok(file, `no verdicts: ${stdout}${stderr}`);
  return { code, verdicts: JSON.parse(readFileSync(join(results, file ?? ''), 'utf8')) as readonly Verdict[] };
};

const bridged = async (
  { settings }: RelayAdminWorld,
  body: (bridge: Bridge) => Promise<void>,
  more: Partial<Parameters<typeof bridgeToHttp>[0]> = {},
): Promise<void> => {
  const bridge = await bridgeToHttp({ args: [bundle('relay-admin.js')], variables: settings(), ...more });
  try {
    await body(bridge);
  } finally {
    await bridge.stop();
  }
};

const EXPECTED = {
  'server-initialize': ['server-initialize', 'wire-schema-valid'],
  ping: ['ping', 'wire-schema-valid'],
  'tools-list': ['tools-list', 'tools-name-format', 'wire-schema-valid'],
} as const;

describe('the relay admin bundle under the official conformance suite', (check) => {
  for (const [scenario, ids] of Object.entries(EXPECTED)) {
    check(
      `passes ${scenario}, with every message held against the schema of the protocol`,
      inWorld((world) =>
        bridged(world, async (bridge) => {
          const { code, verdicts } = await verdictsOn(bridge, world, scenario);
          assert.equal(
            verdicts.filter(({ status }) => status !== 'SUCCESS'),
            [],
          );
          for (const id of ids)
            assert.ok(
              verdicts.some((verdict) => verdict.id === id),
              id,
            );
          assert.is(code, 0);
        }),
      ),
    );
  }

  check(
    'would be caught with a list that breaks the rules',
    inWorld(async (world) => {
      const bent: Parameters<typeof bridgeToHttp>[0]['bent'] = (message) =>
        JSON.parse(
          JSON.stringify(message)
            .replaceAll('"name":"read"', '"name":"read it"')
            .replace('"type":"object"', '"type":7'),
        );
      await bridged(
        world,
        async (bridge) => {
          const { code, verdicts } = await verdictsOn(bridge, world, 'tools-list');
          assert.ok(verdicts.some(({ status }) => status === 'FAILURE'));
          assert.is(code, 1);
        },
        { bent },
      );
    }),
  );
});
