import * as assert from 'uvu/assert';
import { readForm } from '../../../../src/core/http/body.ts';
import { describe } from '../../../check.ts';
import { faultOf, NEVER, posting, type Sent } from './world.ts';

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const read = (body: Sent, headers: Readonly<Record<string, string>> = FORM) =>
  readForm(posting(body, headers), { limitBytes: 8 * 1024 * 1024, signal: NEVER });

describe('a form', (check) => {
  check('readForm: fields as a browser sends them', async () => {
    const form = await read('decision=once&reason=a+b%2B%C3%BC%26+%3D=&empty=&bare');
    assert.equal(
      [...form],
      [
        ['decision', 'once'],
        ['reason', 'a b+ü& =='],
        ['empty', ''],
        ['bare', ''],
      ],
    );
  });

  check('readForm: refuses what is too large or no form, and reads 16 fields', async () => {
    assert.is((await faultOf(read('x'.repeat(32_769)))).kind, 'body-too-large');
    assert.is((await faultOf(read('{}', { 'content-type': 'application/json' }))).kind, 'unsupported-media-type');
    const fields = Array.from({ length: 17 }, (_, index) => `n${index}=%zz`).join('&');
    const form = await read(fields);
    assert.equal([form.size, form.get('n15'), form.get('n16')], [16, '%zz', undefined]);
  });

  check('readForm: answers 4 MB of short names at once', async () => {
    const startedAt = performance.now();
    await Promise.all(Array.from({ length: 8 }, () => faultOf(read('a&'.repeat(2_000_000)))));
    assert.ok(performance.now() - startedAt < 2000);
  });
});
