import * as assert from 'uvu/assert';
import { durationText, latencyText } from '../../../src/console/page/format/dates.ts';
import { moneyText } from '../../../src/console/page/format/numbers.ts';
import { describe } from '../../check.ts';

const digits = (text: string): string => text.replaceAll(/[^\d+-]/g, '');

describe('figures on the page', (check) => {
  check('keep every digit of an amount of money', () => {
    assert.is(digits(moneyText('12345678901234567890.12345678')), '1234567890123456789012345678');
    assert.is(digits(moneyText('12.5', true)), '+1250');
    assert.is(digits(moneyText('-3')), '-300');
  });

  check('show an amount that is no decimal as it came', () => {
    for (const amount of ['', 'NaN', '1e9', '12,5', '<b>']) assert.is(moneyText(amount), amount);
  });

  check('give durations in their two largest units', () => {
    assert.is(durationText(252_000), '4m 12s');
    assert.is(durationText(90_061_000), '1d 1h');
    assert.is(durationText(0), '0s');
    assert.is(durationText(60_000, 'long'), '1 minute');
  });

  check('give short times in the unit that fits', () => {
    assert.equal([latencyText(38.4), latencyText(1240), latencyText(65_000)], ['38 ms', '1.24 s', '65.0 s']);
  });
});
