import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import * as assert from 'uvu/assert';
import { webMac } from '../../../src/adapter/web-crypto.ts';
import { describe, rejection } from '../../check.ts';
import { codePoint } from '../../code-points.ts';

const nodeMac = (secret: string, text: string): string =>
  createHmac('sha256', secret).update(text, 'utf8').digest('base64url');

describe('the MAC', (check) => {
  check('is that of RFC 4231', async () => {
    const vectors: readonly (readonly [string, string, string])[] = [
      ['Jefe', 'what do ya want for nothing?', '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843'],
      ['\u000b'.repeat(20), 'Hi There', 'b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7'],
    ];
    for (const [secret, text, hex] of vectors)
      assert.is(await webMac(secret, text), Buffer.from(hex, 'hex').toString('base64url'));
  });

  check("is that of Node's own, for whatever secret and text", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.string({ unit: codePoint, minLength: 1, maxLength: 200 }),
        fc.string({ unit: codePoint, maxLength: 200 }),
        async (secret, text) => {
          const mac = await webMac(secret, text);
          assert.is(mac, nodeMac(secret, text));
          assert.match(mac, /^[\w-]{43}$/);
        },
      ),
    );
  });

  check('takes a secret that is longer than a block', async () => {
    assert.is(await webMac('s'.repeat(1000), 'text'), nodeMac('s'.repeat(1000), 'text'));
  });

  check('is never made with no secret at all', async () => {
    assert.instance(await rejection(webMac('', 'text')), Error);
  });
});
