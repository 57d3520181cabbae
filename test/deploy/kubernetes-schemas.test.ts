import * as assert from 'uvu/assert';
import { describe } from '../check.ts';
import { createManifestCheck } from './helm/kubernetes-schemas.ts';
import { type Manifest, NEWEST, OLDEST } from './helm/world.ts';

const service = (): Manifest => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'gateway' },
  spec: { selector: { app: 'gateway' }, ports: [{ name: 'http', port: 8000, targetPort: 'http' }] },
});

const deployment = (container: Manifest): Manifest => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'gateway' },
  spec: {
    selector: { matchLabels: { app: 'gateway' } },
    template: { metadata: { labels: { app: 'gateway' } }, spec: { containers: [{ name: 'gateway', ...container }] } },
  },
});

for (const version of [OLDEST, NEWEST]) {
  const faultsOf = createManifestCheck(version);
  describe(`the schemas of Kubernetes ${version}`, (check) => {
    check('take what is right', () => {
      assert.equal(faultsOf(service()), []);
      assert.equal(faultsOf(deployment({ lifecycle: { preStop: { sleep: { seconds: 5 } } } })), []);
    });
    check('refuse a misspelt field, deep down as well', () => {
      const [fault = ''] = faultsOf(deployment({ readynessProbe: {} }));
      assert.match(fault, '/spec/template/spec/containers/0 must NOT have additional properties');
      assert.match(fault, 'readynessProbe');
    });
    check('refuse a value of a wrong type', () => {
      assert.match(faultsOf({ ...service(), spec: { ports: [{ port: '8000' }] } }).join(), '/spec/ports/0/port');
      assert.match(
        faultsOf(deployment({ env: [{ name: 'PORT', value: 8000 }] })).join(),
        '/env/0/value must be string',
      );
    });
    check('refuse an object that lacks what it must have', () => {
      assert.match(faultsOf(deployment({ ports: [{ name: 'http' }] })).join(), "required property 'containerPort'");
    });
    check('refuse null, and a kind that is not known', () => {
      assert.match(faultsOf({ ...service(), spec: null }).join(), '/spec is null');
      assert.equal(faultsOf({ apiVersion: 'v2', kind: 'Service' }), ['no schema for v2/Service']);
    });
  });
}
