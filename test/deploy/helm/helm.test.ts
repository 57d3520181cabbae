import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { parse } from 'yaml';
import { describe } from '../../check.ts';
import { CASES, LEAST, SNAPSHOT_CASES } from './cases.ts';
import { createManifestCheck } from './kubernetes-schemas.ts';
import { CHART, helm, MISSING, manifestsIn, NEWEST, OLDEST, template, type Values, VERSION } from './world.ts';

// Not .yaml: what helm writes is not to be formatted.
const SNAPSHOTS = join(import.meta.dirname, 'snapshots');
// UPDATE_SNAPSHOTS=1 node test/run.mjs test deploy/helm.test: writes them anew, to be read before they are kept.
const isUpdating = process.env.UPDATE_SNAPSHOTS === '1';

const texts = new Map<string, string>();
/** Asks helm once for each case. */
const rendered = (name: string): string => {
  const known = texts.get(name);
  if (known !== undefined) return known;
  const { status, stdout, stderr } = template(CASES[name] ?? {});
  assert.is(status, 0, stderr);
  texts.set(name, stdout);
  return stdout;
};

describe('the chart', (check) => {
  check('has the version of the package, and its images the tag', () => {
    const { version, appVersion } = parse(readFileSync(join(CHART, 'Chart.yaml'), 'utf8'));
    assert.equal([version, appVersion], [VERSION, `v${VERSION}`]);
  });

  check.needing(MISSING, 'passes helm lint in its strict form, with the least values and with all', () => {
    for (const name of ['least', 'scaled', 'agent-with-relay', 'agents-on-postgresql', 'bridge-alone']) {
      const { status, stdout } = helm(
        ['lint', '--strict', CHART, '--kube-version', OLDEST, '-f', '-'],
        JSON.stringify(CASES[name]),
      );
      assert.is(status, 0, stdout);
      assert.match(stdout, '0 chart(s) failed');
      assert.not.match(stdout, /\[(?:WARNING|ERROR)\]/);
    }
  });

  check.needing(MISSING, 'is refused by a Kubernetes without the pause before a stop', () => {
    const { stderr } = template(LEAST, ['--kube-version', '1.29']);
    assert.match(stderr, 'kubeVersion: >=1.30.0-0');
  });

  check.needing(MISSING, 'becomes a package that renders as its directory does', () => {
    const directory = mkdtempSync(join(tmpdir(), 'gatehouse-chart-'));
    try {
      const { status, stderr } = helm(['package', CHART, '--destination', directory]);
      assert.is(status, 0, stderr);
      assert.equal(readdirSync(directory), [`gatehouse-${VERSION}.tgz`]);
      const values = CASES['agent-with-relay'] ?? {};
      assert.is(
        template(values, [], { chart: join(directory, `gatehouse-${VERSION}.tgz`) }).stdout,
        rendered('agent-with-relay'),
      );
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
});

/** Whatever YAML would take for something else than a text without quotes. */
const NUMERIC: Values = {
  image: { pullSecrets: ['789'] },
  serviceAccount: { name: '1234' },
  secrets: {
    create: true,
    keys: { BACKEND_API_KEYS: 'true', MODERATION_API_KEYS: '1e3' },
    values: { BACKEND_API_KEYS: '1', MODERATION_API_KEYS: '2' },
  },
  admin: { existingSecret: '78', key: '90' },
  redis: { existingSecret: '12', key: '34' },
  ingress: { enabled: true, className: '10', hosts: [{ host: '57' }], tls: [{ secretName: '56' }] },
  agent: {
    enabled: true,
    existingSecret: '78',
    username: '13',
    secretKeys: { AGENT_SERVER_PASSWORD: '90', NO: 'null' },
    persistence: { size: '1', storageClass: 'on' },
  },
  bridge: { enabled: true, existingSecret: '11', secretKeys: { BRIDGE_API_KEYS: 'yes' } },
  networkPolicy: { enabled: true },
};
const CLAIMED: Values = {
  ...LEAST,
  agent: { enabled: true, existingSecret: '78', persistence: { existingClaim: '9' } },
};

describe('what the chart renders', (check) => {
  for (const name of SNAPSHOT_CASES) {
    check.needing(MISSING, `is for "${name}" what the snapshot holds`, () => {
      const file = join(SNAPSHOTS, `${name}.txt`);
      const text = rendered(name);
      if (isUpdating) {
        mkdirSync(SNAPSHOTS, { recursive: true });
        writeFileSync(file, text);
      }
      assert.ok(existsSync(file), `${file} is not there; UPDATE_SNAPSHOTS=1 writes it`);
      assert.fixture(text, readFileSync(file, 'utf8'));
    });
  }

  check('has no snapshot of a case that is gone', () => {
    assert.equal(
      readdirSync(SNAPSHOTS).sort(),
      SNAPSHOT_CASES.map((name) => `${name}.txt`),
    );
  });

  for (const version of [OLDEST, NEWEST]) {
    check.needing(MISSING, `is valid for Kubernetes ${version}, without a field that it does not know`, () => {
      const faultsOf = createManifestCheck(version);
      for (const name of Object.keys(CASES)) {
        const all = manifestsIn(rendered(name));
        assert.ok(all.length > 2);
        assert.equal(all.flatMap(faultsOf), [], name);
      }
    });
    check.needing(MISSING, `is valid for Kubernetes ${version} where names look like numbers and booleans`, () => {
      const all = [NUMERIC, CLAIMED].flatMap((values) => {
        const names = { ...values, nameOverride: 'true', fullnameOverride: 'off' };
        const { status, stdout, stderr } = template(names, ['--namespace', '456'], { release: '123' });
        assert.is(status, 0, stderr);
        return manifestsIn(stdout);
      });
      assert.equal(all.flatMap(createManifestCheck(version)), []);
      // As text: what a number or a boolean became on its way would not be the name that was given.
      for (const { metadata, spec, stringData } of all) {
        assert.equal([metadata.namespace, metadata.labels['app.kubernetes.io/name']], ['456', 'true']);
        for (const selector of [spec?.selector?.matchLabels, spec?.podSelector?.matchLabels].filter(Boolean))
          assert.is(selector['app.kubernetes.io/instance'], '123');
        if (stringData !== undefined) assert.equal(Object.keys(stringData).sort(), ['1e3', 'true']);
      }
    });
  }
});
