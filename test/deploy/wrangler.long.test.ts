import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'jsonc-parser';
import * as assert from 'uvu/assert';
import { describe } from '../check.ts';
import { judgedBy, startBackend } from '../runtime/backends.ts';
import { fetchText, KEY, moderate, moderationOf, refusalOf } from '../runtime/client.ts';
import { bundle, program, ROOT, start, type Variables } from '../runtime/processes.ts';
import { PAGE, promptTexts } from './serverless-page.ts';

const MODULE = 'gateway.worker.js';

const directory = mkdtempSync(join(tmpdir(), 'gatehouse-wrangler-'));
process.on('exit', () => rmSync(directory, { recursive: true, force: true }));

/** A place with our configuration and our bundle: Wrangler writes beside its configuration. */
const project = (name: string): string => {
  const folder = join(directory, name);
  mkdirSync(join(folder, 'dist'), { recursive: true });
  mkdirSync(join(folder, 'home'));
  cpSync(join(ROOT, 'wrangler.jsonc'), join(folder, 'wrangler.jsonc'));
  cpSync(bundle(MODULE), join(folder, 'dist', MODULE));
  return folder;
};

/** Wrangler with nobody's account, and nothing to ask anyone. */
const wrangler = (folder: string, ...words: readonly string[]) =>
  start(program('wrangler'), words, {
    directory: folder,
    variables: {
      HOME: join(folder, 'home'),
      XDG_CONFIG_HOME: join(folder, 'home'),
      CI: 'true',
      WRANGLER_SEND_METRICS: 'false',
      WRANGLER_HIDE_BANNER: 'true',
      CLOUDFLARE_CF_FETCH_ENABLED: 'false',
    },
    isGroup: true,
  });

/** Runs the body with the address of the Worker, which has these settings beside those of the configuration. */
const withWorker = async (name: string, settings: Variables, body: (address: string) => Promise<void>) => {
  const folder = project(name);
  const lines = Object.entries(settings).map(([variable, text]) => `${variable}=${text}\n`);
  writeFileSync(join(folder, '.env'), lines.join(''));
  const [, , ...words] = promptTexts('npx wrangler dev ').map((word) => word.replace(/^8000$/, '0'));
  const startedAt = performance.now();
  const running = wrangler(folder, ...words, '--inspector-port', '0');
  try {
    const [, address = ''] = await running.outputMatching(/Ready on (http:\/\/127\.0\.0\.1:\d+)/);
    console.log(`figure: wrangler dev is ready after ${Math.round(performance.now() - startedAt)} ms`);
    await body(address);
  } finally {
    await running.kill();
  }
};

describe('wrangler.jsonc', (check) => {
  check('asks for the runtime that the contract was tried with', () => {
    const { compatibility_date, compatibility_flags } = parse(readFileSync(join(ROOT, 'wrangler.jsonc'), 'utf8')) as {
      readonly compatibility_date: string;
      readonly compatibility_flags: readonly string[];
    };
    const tried = readFileSync(join(ROOT, 'test/runtime/contract/workerd.test.ts'), 'utf8');
    assert.match(tried, `compatibilityDate = ${JSON.stringify(compatibility_date)}`);
    assert.match(tried, `compatibilityFlags = ${JSON.stringify(compatibility_flags)}`);
  });

  check('would upload our bundle byte for byte, and no secret', async () => {
    const folder = project('dry-run');
    const [, , ...words] = promptTexts('npx wrangler deploy --dry-run');
    const running = wrangler(folder, ...words, '--outdir', 'out');
    const { code } = await running.ended;
    assert.is(code, 0, running.stdout() + running.stderr());
    const modules = readdirSync(join(folder, 'out')).filter((name) => name !== 'README.md');
    assert.equal(modules, [MODULE]);
    assert.ok(readFileSync(join(folder, 'out', MODULE)).equals(readFileSync(bundle(MODULE))));
    assert.not.match(running.stdout() + running.stderr(), /warn/i);
    const bindings = [...running.stdout().matchAll(/^env\.(\w+)/gm)].map(([, name]) => name);
    assert.equal(bindings, ['APP_ENV']);
  });

  check('makes a Worker that judges, and that has neither metrics nor Redis', async () => {
    const backend = await startBackend();
    const settings = { MODERATION_API_KEYS: KEY, ...judgedBy(backend.address) };
    const judging = withWorker('judging', settings, async (address) => {
      assert.is((await fetchText(`${address}/health`)).status, 200);
      assert.is(moderationOf(await moderate(address, { input: 'I will kill you' })).results[0]?.flagged, true);
      assert.is(moderationOf(await moderate(address, { input: 'Good morning' })).results[0]?.flagged, false);
      assert.is((await fetchText(`${address}/metrics`)).status, 404);
    });
    await judging.finally(() => backend.stop());
  });

  check('makes a Worker that says what it lacks until the secrets are put', async () => {
    await withWorker('lacking', { BACKEND_BASE_URL: 'http://127.0.0.1:9' }, async (address) => {
      const answer = await fetchText(`${address}/health`);
      assert.is(answer.status, 500);
      assert.ok(PAGE.includes(answer.text), answer.text);
      assert.is(refusalOf(answer).code, 'misconfigured');
    });
  });
});
