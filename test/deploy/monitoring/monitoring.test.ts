import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { parse } from 'yaml';
import { createPrometheusAgentMetrics } from '../../../src/agent/adapter/prometheus.ts';
import { createPrometheusBridgeMetrics } from '../../../src/bridge/adapter/prometheus.ts';
import { createPrometheusConsoleMetrics } from '../../../src/console/adapter/prometheus.ts';
import { createPrometheusGatewayMetrics } from '../../../src/gateway/adapter/prometheus.ts';
import { createGatewayOpenApi } from '../../../src/gateway/openapi.ts';
import { describe } from '../../check.ts';
import { read } from '../../docs/pages.ts';
import { ALL } from '../helm/cases.ts';
import { manifestsIn, MISSING as NO_HELM, template } from '../helm/world.ts';
import { dashboardOf, dashboardText, PAGES } from './dashboards.ts';
import { expressionsOf, listedMetrics, RULES, unknownIn } from './metric-names.ts';

const FILES = join(import.meta.dirname, '../../../k8s/gatehouse/files/monitoring');
const PROMTOOL_TESTS = readdirSync(import.meta.dirname)
  .filter((name) => name.endsWith('.promtool.yaml'))
  .map((name) => join(import.meta.dirname, name));
const NO_PROMTOOL = spawnSync('promtool', ['--version']).error === undefined ? undefined : 'promtool';

type Rule = { readonly alert: string; readonly expr: string; readonly annotations: Readonly<Record<string, string>> };
type Rules = { readonly groups: readonly { readonly rules: readonly Rule[] }[] };
type Tried = { readonly alertname: string; readonly exp_alerts: readonly unknown[] };
type RuleTests = { readonly tests: readonly { readonly alert_rule_test: readonly Tried[] }[] };

const rules = (parse(readFileSync(RULES, 'utf8')) as Rules).groups.flatMap((group) => group.rules);
const promtool = (...words: readonly string[]) => spawnSync('promtool', words, { encoding: 'utf8' });

/** What the services tell at /metrics, without a request to any of them. */
const scrapes = async (): Promise<readonly string[]> => {
  const all = [
    createPrometheusGatewayMetrics({ version: '1', isSharedStateUp: () => true }),
    createPrometheusAgentMetrics('1'),
    createPrometheusBridgeMetrics('1'),
    createPrometheusConsoleMetrics('1'),
  ];
  return Promise.all(all.map(async ({ text }) => (await text()) ?? ''));
};

describe('the alerts', (check) => {
  check.needing(NO_PROMTOOL, 'are valid rules, and each fires for what it is for', () => {
    for (const words of [
      ['check', 'rules', RULES],
      ['test', 'rules', ...PROMTOOL_TESTS],
    ]) {
      const { status, stdout, stderr } = promtool(...words);
      assert.is(status, 0, stdout + stderr);
    }
  });

  check('have each a test where it fires and one where it does not yet', () => {
    const tried = PROMTOOL_TESTS.flatMap((file) => (parse(readFileSync(file, 'utf8')) as RuleTests).tests).flatMap(
      ({ alert_rule_test }) => alert_rule_test,
    );
    for (const { alert } of rules) {
      const own = tried.filter((one) => one.alertname === alert);
      assert.ok(
        own.some((one) => one.exp_alerts.length === 0),
        alert,
      );
      assert.ok(
        own.some((one) => one.exp_alerts.length > 0),
        alert,
      );
    }
    assert.ok(rules.length >= 12);
  });

  check('on errors look at every route that gives a verdict', () => {
    const { paths } = createGatewayOpenApi('1', false) as { readonly paths: Readonly<Record<string, object>> };
    const judging = Object.keys(paths).filter((path) => 'post' in (paths[path] ?? {}));
    const onErrors = rules.filter(({ expr }) => /gatehouse_requests_total\{.*status=/.test(expr));
    assert.equal(
      onErrors.map(({ alert }) => alert),
      ['GatehouseNoVerdicts', 'GatehouseModerationsRefused', 'GatehouseMostModerationsRefused'],
    );
    for (const { expr } of onErrors)
      for (const [, routes = ''] of expr.matchAll(/route=~"([^"]*)"/g)) assert.equal(routes.split('|'), judging);
  });

  check('are there, where a page names one', () => {
    const pages = ['docs/kubernetes.md', 'docs/relays.md', 'docs/moderation-gateway.md'].map(read);
    const named = pages.flatMap((page) => page.match(/\bGatehouse[A-Z]\w+/g) ?? []);
    assert.ok(named.length > 4);
    const known = rules.map(({ alert }) => alert);
    assert.equal(
      named.filter((name) => !known.includes(name)),
      [],
    );
  });

  check('are as many as the page and the changelog say', () => {
    const number = ['thirteen', 'fourteen', 'fifteen', 'sixteen', 'seventeen'][rules.length - 13];
    for (const page of ['docs/kubernetes.md', 'CHANGELOG.md'])
      assert.match(read(page), `a \`PrometheusRule\` with ${number} alerts`);
  });

  check('name metrics and labels that there are', async () => {
    const known = listedMetrics(await scrapes());
    for (const { alert, expr } of rules) assert.equal(unknownIn(expr, known), [], alert);
  });

  check('are what the chart makes of the file', () => {
    if (NO_HELM !== undefined) return;
    const { stdout } = template({ ...ALL, metrics: { rules: { enabled: true, labels: { release: 'p' } } } });
    const found = manifestsIn(stdout).find(({ kind }) => kind === 'PrometheusRule');
    assert.equal(found?.spec, parse(readFileSync(RULES, 'utf8')));
    assert.is(found?.metadata.labels?.release, 'p');
  });
});

describe('the dashboards', (check) => {
  for (const page of PAGES) {
    check(`${page.name}: the file is what \`npm run dashboards\` writes`, () =>
      assert.is(readFileSync(join(FILES, `${page.name}.json`), 'utf8'), dashboardText(page)),
    );

    check(`${page.name}: names metrics and labels that there are`, async () => {
      const known = listedMetrics(await scrapes());
      for (const expression of expressionsOf(page)) assert.equal(unknownIn(expression, known), [], expression);
    });

    check(`${page.name}: no panel lies over another`, () => {
      const places = (dashboardOf(page).panels ?? []).map(({ gridPos }) => gridPos);
      for (const [index, one] of places.entries())
        for (const other of places.slice(index + 1)) {
          assert.ok(one !== undefined && other !== undefined);
          const isBeside = one.x + one.w <= other.x || other.x + other.w <= one.x;
          assert.ok(isBeside || one.y + one.h <= other.y || other.y + other.h <= one.y);
        }
    });
  }

  check('are in ConfigMaps for a sidecar', () => {
    if (NO_HELM !== undefined) return;
    const { stdout } = template({ ...ALL, metrics: { dashboards: { enabled: true } } });
    const maps = manifestsIn(stdout).filter(({ metadata }) => metadata.labels?.grafana_dashboard === '1');
    const texts = maps.flatMap(({ data }) => Object.values((data ?? {}) as Readonly<Record<string, string>>));
    assert.equal(
      texts.map((text) => JSON.parse(text)),
      [...PAGES].sort((a, b) => a.name.localeCompare(b.name)).map((page) => JSON.parse(dashboardText(page))),
    );
  });
});

describe('what compares names', (check) => {
  const known = listedMetrics(['# TYPE gatehouse_requests_total counter\n']);
  const cases: readonly (readonly [string, string, readonly string[]])[] = [
    ['takes what there is', 'sum by (namespace, route) (rate(gatehouse_requests_total{status=~"5.."}[5m]))', []],
    ['misses a metric', 'gatehouse_request_total', ['gatehouse_request_total']],
    ['misses a label in braces', 'gatehouse_requests_total{code="500"}', ['code']],
    ['misses a label behind by', 'sum by (paht) (gatehouse_requests_total)', ['paht']],
    ['misses a label of a legend', 'gatehouse_requests_total\n{{verb}}', ['verb']],
    ['misses a value', 'gatehouse_requests_total{route="/v1/moderation"}', ['/v1/moderation']],
  ];
  for (const [name, expression, unknown] of cases)
    check(name, () => assert.equal(unknownIn(expression, known), unknown));
});
