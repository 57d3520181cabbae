import fc from 'fast-check';
import * as assert from 'uvu/assert';
import * as v from 'valibot';
import {
  AMOUNT_RULE,
  Amount,
  formatUnits,
  parseFormatted,
  parseUnits,
  unitsFromNumber,
} from '../../src/relay-admin/money.ts';
import { describe, thorough } from '../check.ts';

const ONE = 100_000_000n;

const AMOUNTS: readonly (readonly [string, bigint])[] = [
  ['0', 0n],
  ['0.0', 0n],
  ['0.00000001', 1n],
  ['0.1', 10_000_000n],
  ['1', ONE],
  ['1.50', 150_000_000n],
  ['12.5', 1_250_000_000n],
  ['1000000', 1_000_000n * ONE],
  ['9999999.99999999', 999_999_999_999_999n],
];

/** What is no amount, by what is wrong with it. */
const NO_AMOUNTS: Readonly<Record<string, readonly string[]>> = {
  'nothing at all': ['', ' ', '\n', '\u00a0', '\u200b'],
  'a sign': ['-1', '+1', '-0', '−1', '--1', '1-'],
  'an exponent': ['1e3', '1E3', '1e-8', '1e+2', '1.5e1'],
  'a blank': [' 1', '1 ', '1\n', '\n1', '1\t', '1 000', '1. 5', '1\u00a0', '\ufeff1', '1\u200b', '1\u0000'],
  'a separator': ['1,5', '1,000', '1_000', "1'000", '1.000.000', '1..5', '1.5.'],
  'digits of another script': ['１', '１２.５', '٣', '१', '𝟏', '1.٥', '²', '½', '一'],
  'a leading zero': ['00', '01', '00.5', '007'],
  'too many decimals': ['1.123456789', '0.000000001', '0.000000000'],
  'too many digits': ['10000000', '12345678', '99999999999999999999'],
  'a missing part': ['.5', '5.', '.'],
  'another notation': [
    'NaN',
    'Infinity',
    '0x10',
    '0b1',
    '0o7',
    '1n',
    '1f',
    '$1',
    '1%',
    '1/2',
    '(1)',
    'one',
    'null',
    '[]',
  ],
};

const NUMBERS: readonly (readonly [number, bigint])[] = [
  [0, 0n],
  [-0, 0n],
  [1e-8, 1n],
  [-1e-8, -1n],
  [0.1 + 0.2, 30_000_000n],
  [1.005, 100_500_000n],
  [1e-9, 0n],
  [-1e-9, 0n],
  [5e-9, 1n],
  [12.5, 1_250_000_000n],
  [-3.25, -325_000_000n],
  [1_000_000.12345678, 100_000_012_345_678n],
  [Number.MIN_VALUE, 0n],
  [999_999_999_999_999_900_000, 999_999_999_999_999_868_928n * ONE],
];

/** Text of an amount up to a million, with every number of decimals. */
const amountUpToAMillion = fc
  .record({ whole: fc.integer({ min: 0, max: 999_999 }), decimals: fc.stringMatching(/^\d{0,8}$/) })
  .map(({ whole, decimals }) => (decimals === '' ? String(whole) : `${whole}.${decimals}`));

describe('an amount', (check) => {
  for (const [text, units] of AMOUNTS) {
    check(`${text} is ${units} units`, () => assert.is(parseUnits(text), units));
  }

  for (const [what, texts] of Object.entries(NO_AMOUNTS)) {
    check(`with ${what} is none`, () => {
      for (const text of texts) {
        assert.is(parseUnits(text), undefined, JSON.stringify(text));
        assert.not(v.is(Amount, text), JSON.stringify(text));
      }
    });
  }

  check('to be credited is over zero', () => {
    for (const text of ['0', '0.0', '0.00000000']) assert.not(v.is(Amount, text), text);
    for (const text of ['0.00000001', '1', '12.5', '9999999.99999999']) assert.ok(v.is(Amount, text), text);
  });

  check('to be credited is a text and nothing that reads like one', () => {
    for (const given of [1, 12.5, 1n, true, null, undefined, ['1'], { toString: () => '1' }, new String('1')])
      assert.not(v.is(Amount, given), typeof given);
  });

  check('that is refused is not quoted, whatever is wrong with it', () => {
    for (const given of ['canary', '-7.77', 7.77, '0', null]) {
      const { issues = [] } = v.safeParse(Amount, given);
      assert.ok(issues.length > 0);
      for (const { message } of issues) assert.is(message, AMOUNT_RULE);
    }
  });

  check('survives the way to a text and back, below zero too', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 999_999_999_999_999n }), (units) => {
        assert.is(parseUnits(formatUnits(units)), units);
        assert.is(formatUnits(-units), units === 0n ? '0' : `-${formatUnits(units)}`);
      }),
    );
  });

  check('has one shortest text', () => {
    fc.assert(
      fc.property(amountUpToAMillion, (text) => {
        const shortest = formatUnits(parseUnits(text) ?? -1n);
        assert.is(parseUnits(shortest), parseUnits(text));
        assert.ok(shortest.length <= text.length);
        assert.not.match(shortest, /\..*0$|\.$/);
      }),
    );
    assert.is(formatUnits(1n), '0.00000001');
    assert.is(formatUnits(-1n), '-0.00000001');
    assert.is(formatUnits(-1_250_000_000n), '-12.5');
    assert.is(formatUnits(10n * ONE), '10');
  });

  check('up to a million keeps every digit as a JSON number', () => {
    fc.assert(
      fc.property(amountUpToAMillion, (text) => {
        assert.is(unitsFromNumber(JSON.parse(text)), parseUnits(text));
        assert.is(unitsFromNumber(JSON.parse(JSON.stringify({ balance: JSON.parse(text) })).balance), parseUnits(text));
      }),
      { numRuns: thorough(333, 2000) },
    );
    for (const text of ['1000000', '999999.99999999', '999999.99999998', '0.00000001', '0.00000003'])
      assert.is(unitsFromNumber(JSON.parse(text)), parseUnits(text), text);
  });
});

describe('a balance as it was written', (check) => {
  check('is read again exactly, of any size and sign', () => {
    const largest = 10n ** 29n;
    fc.assert(
      fc.property(fc.bigInt({ min: -largest, max: largest }), (units) => {
        assert.is(parseFormatted(formatUnits(units)), units);
      }),
    );
  });

  check('is nothing else', () => {
    for (const text of ['', '-', '1.', '.5', '1.000000001', '+1', '1e3', ' 1', '1,5', 'NaN'])
      assert.is(parseFormatted(text), undefined, text);
  });
});

describe("a number of the relay's", (check) => {
  for (const [value, units] of NUMBERS) {
    check(`${Object.is(value, -0) ? '-0' : value} is ${units} units`, () => assert.is(unitsFromNumber(value), units));
  }

  check('is no amount when it is not finite, or beyond what is written without an exponent', () => {
    for (const value of [Number.NaN, Infinity, -Infinity, 1e21, -1e21, Number.MAX_VALUE, JSON.parse('1e999')])
      assert.is(unitsFromNumber(value), undefined, String(value));
  });

  check('has units for whatever it is, and never throws', () => {
    fc.assert(
      fc.property(fc.double(), (value) => {
        const units = unitsFromNumber(value);
        assert.is(units === undefined, !(Math.abs(value) < 1e21));
        if (units !== undefined) assert.is(typeof formatUnits(units), 'string');
      }),
    );
  });
});
