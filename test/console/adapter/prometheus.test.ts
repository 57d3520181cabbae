import * as assert from 'uvu/assert';
import { createPrometheusConsoleMetrics } from '../../../src/console/adapter/prometheus.ts';
import { describe } from '../../check.ts';

describe('the console at /metrics', (check) => {
  check('tells recharges in doubt only while the journal can be read', async () => {
    const { recordRechargesInDoubt, text } = createPrometheusConsoleMetrics('1');
    const sample = async () => (await text())?.match(/^gatehouse_recharges_in_doubt .*$/m)?.[0];
    recordRechargesInDoubt(2);
    assert.is(await sample(), 'gatehouse_recharges_in_doubt 2');
    recordRechargesInDoubt(undefined);
    assert.is(await sample(), undefined);
    recordRechargesInDoubt(0);
    assert.is(await sample(), 'gatehouse_recharges_in_doubt 0');
  });
});
