import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { parse } from 'yaml';
import { GatewayVariables } from '../../../src/gateway/settings/variables.ts';
import { describe } from '../../check.ts';
import { defaultOf, read } from '../../docs/pages.ts';
import { createManifestCheck } from './kubernetes-schemas.ts';
import {
  COMPONENT,
  helm,
  type Manifest,
  MISSING,
  manifestsIn,
  NEWEST,
  OLDEST,
  only,
  ROOT,
  template,
  type Values,
  variablesOf,
} from './world.ts';

const SIZES = join(ROOT, 'k8s/sizes');
const NAMES = ['one-box', 'small', 'zones'] as const;
const REPLICAS = { 'one-box': 1, small: 2, zones: 3 };

const valuesOf = (name: string): Values => parse(readFileSync(join(SIZES, `${name}.yaml`), 'utf8'));
const rendered = (name: string): readonly Manifest[] => {
  const { status, stdout, stderr } = template(valuesOf(name));
  assert.is(status, 0, stderr);
  return manifestsIn(stdout);
};
const ofKind = (all: readonly Manifest[], kind: string): readonly Manifest[] => all.filter((one) => one.kind === kind);

describe('the values for a size', (check) => {
  check('are those that are looked at here', () =>
    assert.equal(
      readdirSync(SIZES).sort(),
      NAMES.map((name) => `${name}.yaml`),
    ),
  );

  for (const name of NAMES) {
    check.needing(MISSING, `${name}: render to what both ends of the supported versions take`, () => {
      const all = rendered(name);
      for (const version of [OLDEST, NEWEST]) assert.equal(all.flatMap(createManifestCheck(version)), []);
      const { status, stdout } = helm([
        'lint',
        '--strict',
        join(ROOT, 'k8s/gatehouse'),
        '-f',
        join(SIZES, `${name}.yaml`),
      ]);
      assert.is(status, 0, stdout);
    });

    check.needing(
      MISSING,
      `${name}: have ${REPLICAS[name]} of each service, and a budget where there are several`,
      () => {
        const all = rendered(name);
        const [autoscaler] = ofKind(all, 'HorizontalPodAutoscaler');
        const counts = ofKind(all, 'Deployment').map(({ spec }) => spec.replicas ?? autoscaler?.spec.minReplicas);
        assert.equal(counts, [REPLICAS[name], REPLICAS[name], REPLICAS[name]]);
        assert.is(ofKind(all, 'PodDisruptionBudget').length, REPLICAS[name] === 1 ? 0 : 3);
      },
    );

    check.needing(MISSING, `${name}: give each pod time for the pause before its stop and for what runs`, () => {
      for (const { metadata, spec } of ofKind(rendered(name), 'Deployment')) {
        const { containers, terminationGracePeriodSeconds: graceSeconds } = spec.template.spec;
        const pauseSeconds = containers[0].lifecycle?.preStop?.sleep?.seconds ?? 0;
        assert.ok(graceSeconds >= pauseSeconds + 15, `${metadata.name}: ${graceSeconds} s`);
      }
    });
  }

  check.needing(MISSING, 'limit what each service calls as far as they name it', () => {
    const limited = NAMES.map((name) =>
      ofKind(rendered(name), 'NetworkPolicy').map(({ metadata }) => metadata.labels[COMPONENT]),
    );
    assert.equal(limited, [[], [], ['agent', 'bridge', 'gateway']]);
  });

  for (const name of NAMES)
    check.needing(MISSING, `${name}: never make more calls at the judge than the page says`, () => {
      const all = rendered(name);
      const gateway = only(all, 'Deployment', 'gateway');
      const [autoscaler] = ofKind(all, 'HorizontalPodAutoscaler');
      const callsOfOne = variablesOf(gateway).MAX_CONCURRENCY ?? defaultOf(GatewayVariables.entries.MAX_CONCURRENCY);
      const [, listed] =
        new RegExp(`^\\| .*k8s/sizes/${name}\\.yaml\\).* \\| (\\d+) \\|`, 'm').exec(read('docs/kubernetes.md')) ?? [];
      assert.is(Number(autoscaler?.spec.maxReplicas ?? gateway.spec.replicas) * Number(callsOfOne), Number(listed));
    });

  check.needing(MISSING, 'zones: have the label of a Prometheus on all that it is to find', () => {
    const watched = rendered('zones').filter(({ kind }) => kind === 'ServiceMonitor' || kind === 'PrometheusRule');
    assert.is(watched.length, 4);
    for (const { metadata } of watched) assert.is(metadata.labels?.release, 'kube-prometheus-stack');
  });

  check.needing(MISSING, 'zones: spread each service over zones', () => {
    for (const { spec } of ofKind(rendered('zones'), 'Deployment')) {
      const keys = spec.template.spec.topologySpreadConstraints.map((one: { topologyKey: string }) => one.topologyKey);
      assert.equal(keys, ['topology.kubernetes.io/zone', 'kubernetes.io/hostname']);
    }
  });

  check.needing(MISSING, 'zones: let in the ingress and what scrapes, and nobody else', () => {
    const policies = ofKind(rendered('zones'), 'NetworkPolicy');
    assert.is(policies.length, 3);
    for (const { spec } of policies) for (const { from } of spec.ingress) assert.ok(from.length > 0);
  });
});
