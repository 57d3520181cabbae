import * as assert from 'uvu/assert';
import { nearestName } from '../../src/core/config.ts';
import { describe } from '../check.ts';

const NAMES = ['harassment', 'hate', 'self-harm', 'violence', 'violence/graphic'];

describe('the nearest name', (check) => {
  const typos: Readonly<Record<string, string>> = {
    harrasment: 'harassment',
    harassmnet: 'harassment',
    hat: 'hate',
    Hate: 'hate',
    haste: 'hate',
    self_harm: 'self-harm',
    selfharm: 'self-harm',
    'violence-graphic': 'violence/graphic',
    violense: 'violence',
    'violence/graphic': 'violence/graphic',
  };
  for (const [typed, meant] of Object.entries(typos)) {
    check(`of "${typed}" is "${meant}"`, () => assert.is(nearestName(typed, NAMES), meant));
  }

  check('is the first of the list when several are as near', () => {
    assert.is(nearestName('cat', ['bat', 'hat']), 'bat');
    assert.is(nearestName('cat', ['hat', 'bat']), 'hat');
  });

  check('is none when no name is known', () => assert.is(nearestName('hate', []), undefined));

  check('of an empty name is the shortest', () => assert.is(nearestName('', NAMES), 'hate'));

  check('leaves the list in its order', () => {
    const names = ['b', 'a'];
    nearestName('a', names);
    assert.equal(names, ['b', 'a']);
  });

  check('counts letters beyond the basic plane as one each', () => {
    assert.is(nearestName('😀😀', ['abc', '😀😀😀']), '😀😀😀');
  });
});
