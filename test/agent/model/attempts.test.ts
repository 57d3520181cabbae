import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import * as assert from 'uvu/assert';
import { countAttempts } from '../../../src/agent/model/attempts.ts';
import type { ModelRequest } from '../../../src/agent/model/types.ts';
import { describe } from '../../check.ts';
import { question } from '../harness/model-world.ts';
import { replying } from '../harness/world.ts';

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');
const settled = () => new Promise((resolve) => setTimeout(resolve, 5));

describe('the attempts of a request', (check) => {
  const signal = new AbortController().signal;

  check('are counted for the last one', () => {
    const { model, attempts } = countAttempts(replying('x'));
    const [first, second] = [question(), question()];
    for (const request of [first, first, second, second, second]) model(request, signal);
    assert.is(attempts(), 3);
  });

  check('are counted without keeping its messages in memory', async () => {
    const { model, attempts } = countAttempts(replying('x'));
    const sendOnce = (): WeakRef<ModelRequest> => {
      const request = question();
      model(request, signal);
      return new WeakRef(request);
    };
    const request = sendOnce();
    for (let round = 0; round < 20 && request.deref() !== undefined; round += 1) {
      await settled();
      collectGarbage();
    }
    assert.equal([request.deref(), attempts()], [undefined, 1]);
  });
});
