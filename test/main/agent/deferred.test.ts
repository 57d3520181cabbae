import * as assert from 'uvu/assert';
import { loadOnce } from '../../../src/main/agent/deferred.ts';
import { describe, rejection } from '../../check.ts';

describe('what is loaded late', (check) => {
  check('is loaded when it is asked for, and once', async () => {
    let loads = 0;
    const value = loadOnce(async () => ({ load: ++loads }));
    assert.is(loads, 0);
    const [first, second] = await Promise.all([value(), value()]);
    assert.is(first, second);
    assert.is(await value(), first);
    assert.is(loads, 1);
  });

  check('is loaded again for the next who asks when it could not be had', async () => {
    const broken = new Error('the disk is away');
    const loads = [() => Promise.reject(broken), () => Promise.resolve('there')];
    const value = loadOnce(async () => loads.shift()?.());
    assert.is(await rejection(value()), broken);
    assert.is(await value(), 'there');
  });
});
