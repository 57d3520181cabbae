import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { parse } from 'yaml';
import { describe } from '../check.ts';
import { CASES, LEAST } from './helm-cases.ts';
import { CHART, helm, MISSING, manifestsIn, NEWEST, OLDEST, template } from './helm-world.ts';
import { createManifestCheck } from './kubernetes-schemas.ts';

// Not .yaml: what helm writes is not to be formatted.
const SNAPSHOTS = join(import.meta.dirname, 'helm-snapshots');
// UPDATE_SNAPSHOTS=1 node test/run.mjs test deploy/helm.test: writes them anew, to be read before they are kept.
const isUpdating = process.env.UPDATE_SNAPSHOTS === '1';

const rendered = (name: string): string => {
  const { status, stdout, stderr } = template(CASES[name] ?? {});
  assert.is(status, 0, stderr);
  return stdout;
};

describe('the chart', (check) => {
  check('has the version and the image tag of the specification', () => {
    const { version, appVersion } = parse(readFileSync(join(CHART, 'Chart.yaml'), 'utf8'));
    assert.equal([version, appVersion], ['0.1.0', 'v0.1.0']);
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
      assert.equal(readdirSync(directory), ['gatehouse-0.1.0.tgz']);
      const values = CASES['agent-with-relay'] ?? {};
      assert.is(template(values, [], join(directory, 'gatehouse-0.1.0.tgz')).stdout, rendered('agent-with-relay'));
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
});

describe('what the chart renders', (check) => {
  for (const name of Object.keys(CASES)) {
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
      Object.keys(CASES)
        .map((name) => `${name}.txt`)
        .sort(),
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
  }
});
