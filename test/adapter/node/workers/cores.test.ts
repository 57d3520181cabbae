import { availableParallelism } from 'node:os';
import * as assert from 'uvu/assert';
import { coresOfQuota, usableCores } from '../../../../src/adapter/node/workers/cores.ts';
import { describe } from '../../../check.ts';

const files = (found: Readonly<Record<string, string>>) => (file: string) => found[file] ?? '';

describe('the cores that a process may use', (check) => {
  check('are read from a quota', () => {
    assert.equal(['150000 100000', '50000 100000', 'max 100000', '-1 100000', '0 0', '', 'x'].map(coresOfQuota), [
      1.5,
      0.5,
      ...Array.from({ length: 5 }, () => undefined),
    ]);
  });
  check('are whole, at least one, and no more than there are', () => {
    assert.is(usableCores(files({})), availableParallelism());
    assert.is(usableCores(files({ '/sys/fs/cgroup/cpu.max': '50000 100000' })), 1);
    assert.is(usableCores(files({ '/sys/fs/cgroup/cpu.max': '9999999 100000' })), availableParallelism());
    const version1 = {
      '/sys/fs/cgroup/cpu/cpu.cfs_quota_us': '170000',
      '/sys/fs/cgroup/cpu/cpu.cfs_period_us': '100000',
    };
    assert.is(usableCores(files(version1)), 1);
  });
});
