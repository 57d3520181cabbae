import * as assert from 'uvu/assert';
import { describe } from '../check.ts';
import { MODERATION_MODELS } from './harness/image-inputs.ts';
import { gatewayOver, judging, type WorldSettings } from './harness/world.ts';

describe('the largest body that is not set', (check) => {
  const MIB = 1_048_576;
  const bodyOf = (bytes: number) => `{"input":"a"${' '.repeat(bytes - 13)}}`;
  const isTaken = async (bytes: number, settings: WorldSettings) =>
    (await gatewayOver(judging(), settings).ask(bodyOf(bytes))).status === 200;
  const seeing = { MODERATION_MODELS };
  check('is 1 MiB for texts, and 8 MiB where an alias takes images', async () => {
    assert.equal([await isTaken(MIB, {}), await isTaken(MIB + 1, {})], [true, false]);
    const variables = seeing;
    assert.equal([await isTaken(8 * MIB, { variables }), await isTaken(8 * MIB + 1, { variables })], [true, false]);
  });
  check('is a quarter of the budget where that is less, and never under 1 MiB', async () => {
    const some = { variables: seeing, needs: { memoryBytes: 160 * MIB } };
    assert.equal([await isTaken(4 * MIB, some), await isTaken(4 * MIB + 1, some)], [true, false]);
    const little = { variables: seeing, needs: { memoryBytes: 1024 } };
    assert.equal([await isTaken(MIB, little), await isTaken(MIB + 1, little)], [true, false]);
  });
  check('is what is set, with images and without', async () => {
    const variables = { ...seeing, MAX_BODY_BYTES: '2048' };
    assert.equal([await isTaken(2048, { variables }), await isTaken(2049, { variables })], [true, false]);
  });
});
