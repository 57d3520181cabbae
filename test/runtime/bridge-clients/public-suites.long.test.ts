import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { systemClock } from '../../../src/adapter/node/clock.ts';
import { createScriptedModel } from '../../../src/demo/model/model.ts';
import { withModelServer } from '../../agent/harness/model-server.ts';
import { describe } from '../../check.ts';
import { plainConfig } from '../agent/world.ts';
import { BRIDGE_KEY, type BridgeProcess, type BridgeWorld, inBridgeWorld, sharedWorld } from '../bridge/world.ts';
import { run } from '../processes.ts';
import { obedientScript } from './obedient-model.ts';
import { installGoProgram, installNpmProgram } from './suite-programs.ts';

// Two public suites of OpenAI compatibility, as they come and with their default tests, in front of a model that does what they ask.
// Not among these: the second suite's optional tests of compaction, of WebSocket and of the phases of messages, which the bridge has not.

type CanaryReport = {
  readonly score: number;
  readonly results: readonly { readonly id: string; readonly status: string; readonly summary: string }[];
};
type TesterReport = {
  readonly primary_mode: string;
  readonly results: readonly {
    readonly TestID: string;
    readonly Status: string;
    readonly ErrorMessage: string;
  }[];
};

const MODEL = 'demo/main';
const CANARY = '0.2.2';
const TESTER = 'v0.0.0-20260524202611-011c4cf216ef';
const TESTS_OF_CANARY = 7;
const TESTS_OF_TESTER = 21;

const canary = installNpmProgram('compatcanary', CANARY, 'src/cli.js');
const tester = installGoProgram('github.com/avelrl/openai-compatible-tester', TESTER);

const model = createScriptedModel({ clock: systemClock, script: obedientScript });
const shared = sharedWorld<BridgeWorld>((body) =>
  withModelServer(model, ({ url }) => inBridgeWorld({ config: { provider: plainConfig(url).provider } }, body)()),
);
/** The world ends with the last check for it, so one that is skipped must not count. */
const beside = (lacking: string | undefined, body: (world: BridgeWorld) => Promise<void>) =>
  lacking === undefined ? shared(body) : () => {};

const variables = { OPENAI_API_KEY: BRIDGE_KEY };

const canaryReport = async ({ baseURL }: BridgeProcess): Promise<CanaryReport> => {
  const words = ['scan', '--base-url', baseURL, '--model', MODEL, '--format', 'json'];
  const { stdout, stderr } = await run(process.execPath, [canary.program, ...words], { variables });
  assert.ok(stdout.startsWith('{'), stdout + stderr);
  return JSON.parse(stdout);
};

/** Runs the tests of the suite's own configuration. Only the model and the address are given. */
const testerReport = async ({ baseURL }: BridgeProcess): Promise<TesterReport> => {
  const directory = mkdtempSync(join(tmpdir(), 'gatehouse-tester-'));
  try {
    // It reads YAML, which JSON is.
    const models = join(directory, 'models.yaml');
    writeFileSync(models, JSON.stringify({ profiles: [{ name: 'main', chat_model: MODEL, responses_model: MODEL }] }));
    const out = ['--no-tui', '--json', '--mode', 'strict', '--out-dir', join(directory, 'reports')];
    const words = [...out, '--base-url', baseURL, '--models', models];
    const { stdout, stderr } = await run(tester.program, words, { variables, directory: tester.directory });
    const [reports = ''] = readdirSync(join(directory, 'reports'));
    assert.ok(reports !== '', stdout + stderr);
    return JSON.parse(readFileSync(join(directory, 'reports', reports, 'summary.json'), 'utf8'));
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
};

describe('a public suite of OpenAI compatibility', (check) => {
  check.needing(
    canary.missing,
    '(compatcanary) gives the full score',
    beside(canary.missing, async ({ bridge }) => {
      const { score, results } = await canaryReport(bridge);
      console.log(`figure: compatcanary ${CANARY}: ${score} of 100`);
      assert.equal(
        results.filter(({ status }) => status !== 'pass'),
        [],
      );
      assert.equal([score, results.length], [100, TESTS_OF_CANARY]);
    }),
  );

  const strict = '(openai-compatible-tester) passes all its default tests in strict mode';
  // Some module proxies serve only well-known modules. That is no fault of what is tested, nor of CI.
  if (tester.isRefused) console.log(`skipped: ${strict} (the Go module proxy here refuses it)`);
  else
    check.needing(
      tester.missing,
      strict,
      beside(tester.missing, async ({ bridge }) => {
        const { primary_mode: mode, results } = await testerReport(bridge);
        const passed = results.filter(({ Status }) => Status === 'pass').length;
        console.log(`figure: openai-compatible-tester ${TESTER}: ${passed} of ${results.length}`);
        assert.equal(
          results
            .filter(({ Status }) => Status !== 'pass')
            .map(({ TestID, ErrorMessage }) => `${TestID}: ${ErrorMessage}`),
          [],
        );
        assert.equal([mode, passed], ['strict', TESTS_OF_TESTER]);
      }),
    );
});
