import fc from 'fast-check';
import * as assert from 'uvu/assert';
import { PREVIEW_LIFETIME_MS } from '../../../../src/relay-admin/recharge/preview-token.ts';
import { describe, thorough } from '../../../check.ts';
import { AMOUNT, kindOf, person, tokenWorld } from './world.ts';

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-';

describe('a preview token that was altered', (check) => {
  check('in any one character is unknown', async () => {
    const { tokens } = tokenWorld();
    const { token } = await tokens.create(person({ balance: -10 }), AMOUNT);
    for (let place = 0; place < token.length; place++) {
      const characters = [...'09afAZ._- \n', String.fromCharCode(token.charCodeAt(place) ^ 1)];
      for (const character of characters.filter((one) => one !== token[place])) {
        const altered = token.slice(0, place) + character + token.slice(place + 1);
        assert.is(await kindOf(tokens.verify(altered)), 'token-unknown', altered);
      }
      assert.is(await kindOf(tokens.verify(token.slice(0, place) + token.slice(place + 1))), 'token-unknown');
    }
  });

  check('in whatever way is unknown', async () => {
    const { tokens } = tokenWorld();
    const { token } = await tokens.create(person(), AMOUNT);
    const alteration = fc.oneof(
      fc.record({ at: fc.nat(token.length), remove: fc.nat(5), insert: fc.string({ maxLength: 5 }) }),
      fc.record({
        at: fc.nat(token.length),
        remove: fc.nat(2),
        insert: fc.string({ unit: fc.constantFrom(...ALPHABET), maxLength: 3 }),
      }),
    );
    await fc.assert(
      fc.asyncProperty(alteration, async ({ at, remove, insert }) => {
        const altered = token.slice(0, at) + insert + token.slice(at + remove);
        if (altered !== token) assert.is(await kindOf(tokens.verify(altered)), 'token-unknown');
      }),
      { numRuns: thorough(166, 500) },
    );
  });

  check('is unknown and not expired when it is both', async () => {
    const { tokens, clock } = tokenWorld();
    const { token } = await tokens.create(person(), AMOUNT);
    await clock.advance(PREVIEW_LIFETIME_MS);
    assert.is(await kindOf(tokens.verify(token.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')))), 'token-unknown');
  });

  check('by the facts of another is unknown', async () => {
    const { tokens } = tokenWorld();
    const [small, large] = [
      await tokens.create(person(), AMOUNT),
      await tokens.create(person({ id: 8 }), AMOUNT * 10n),
    ];
    const [one, other] = [small.token.split('.'), large.token.split('.')];
    for (let cut = 2; cut < one.length; cut++) {
      assert.is(await kindOf(tokens.verify([...one.slice(0, cut), ...other.slice(cut)].join('.'))), 'token-unknown');
      assert.is(await kindOf(tokens.verify([...other.slice(0, cut), ...one.slice(cut)].join('.'))), 'token-unknown');
    }
  });

  check('or was never one is unknown', async () => {
    const { tokens } = tokenWorld();
    const { token } = await tokens.create(person(), AMOUNT);
    const NONE = [
      '',
      ' ',
      'rp1',
      'rp1.',
      '........',
      `${token}\n`,
      ` ${token}`,
      `${token}.`,
      `${token}${token}`,
      token.toUpperCase(),
      token.replace('rp1', 'rp2'),
      token.split('').reverse().join(''),
      'rp1.7.1250000000.1000000000.aaaaaaaaaaaa.aaaaaaaaaaaa.9999999999999.00000000000000000000000000000000.',
      `rp1.7.1250000000.1000000000.aaaaaaaaaaaa.aaaaaaaaaaaa.9999999999999.${'0'.repeat(32)}.${'A'.repeat(22)}`,
      'x'.repeat(1_000_000),
      `rp1.${'9'.repeat(1_000_000)}`,
    ];
    for (const text of NONE) assert.is(await kindOf(tokens.verify(text)), 'token-unknown', text.slice(0, 80));
  });
});
