import * as assert from 'uvu/assert';
import { describe, rejection } from '../../../../check.ts';
import { AGAIN, withAnswers } from './world.ts';

describe('a request with an Idempotency-Key', (check) => {
  check('gets what the key has started, for its owner alone', async () => {
    const { begun, numberOf } = withAnswers();
    await begun({ key: 'k' });
    assert.is(await numberOf({ key: 'k' }), 1);
    assert.is(await numberOf({ key: 'k', owner: 'you' }), 2);
    assert.is(await numberOf({ key: 'k2' }), 3);
    assert.is(await numberOf({ key: 'k3', isRetry: true }), 4);
  });

  check('is refused when the key came with another request, also while that is aborted', async () => {
    const { begun, claim, numberOf } = withAnswers({ kind: 'abort' });
    const first = await begun({ key: 'k' });
    const refusal = async () => JSON.stringify(await rejection(claim({ key: 'k', digest: 'other' })));
    assert.match(await refusal(), '"idempotency_key_reused"');
    first.leave();
    assert.match(await refusal(), '"idempotency_key_reused"');
    assert.is(await numberOf({ key: 'k', digest: 'other', owner: 'you' }), 2);
  });

  check('gets the same for ten minutes after it was last read', async () => {
    const afterReading = async (waitedMs: number, digest: string): Promise<number> => {
      const { read, claim, numberOf, clock } = withAnswers();
      await read({ key: 'k' });
      await clock.advance(599_999);
      (await claim({ key: 'k' })).finish();
      await clock.advance(waitedMs);
      return numberOf({ key: 'k', digest });
    };
    assert.is(await afterReading(599_999, 'this'), 1);
    assert.is(await afterReading(600_000, 'other'), 2);
  });

  check('is reached by its key alone', async () => {
    const { begun, numberOf } = withAnswers();
    (await begun({ key: 'k' })).leave();
    assert.equal([await numberOf(), await numberOf(AGAIN)], [2, 2]);
  });
});

describe('a request that comes while its turn is aborted', (check) => {
  for (const [asked, words] of [
    [{ key: 'k' }, 'with a key'],
    [AGAIN, 'marked as a retry'],
    [{}, 'not marked'],
  ] as const) {
    check(`waits, and is informed of what was done, ${words}`, async () => {
      const { begun, numberOf } = withAnswers({ kind: 'abort' });
      const first = await begun({ ...asked, isRetry: false });
      first.leave();
      const again = numberOf(asked);
      first.answer.end('failed');
      assert.is(await again, 1);
    });

    check(`waits, and starts anew when nothing was done, ${words}`, async () => {
      const { begun, numberOf } = withAnswers({ kind: 'abort' });
      const first = await begun({ ...asked, isRetry: false });
      first.leave();
      const again = numberOf(asked);
      first.answer.end('void');
      assert.is(await again, 2);
    });
  }

  check('waits no longer than its own client', async () => {
    const { begun, claim } = withAnswers({ kind: 'abort' });
    (await begun()).leave();
    const leaving = new AbortController();
    const again = rejection(claim({ ...AGAIN, signal: leaving.signal }));
    leaving.abort(new Error('left'));
    assert.match(String(await again), 'left');
  });
});
