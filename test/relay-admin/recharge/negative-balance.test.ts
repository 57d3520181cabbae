import * as assert from 'uvu/assert';
import { RelayError } from '../../../src/relay-admin/errors/errors.ts';
import { parseFormatted, type Units } from '../../../src/relay-admin/money.ts';
import { assertNotNegative } from '../../../src/relay-admin/recharge/negative-balance.ts';
import { describe } from '../../check.ts';

const units = (text: string): Units => {
  const found = parseFormatted(text);
  if (found === undefined) throw new Error(`No balance: ${text}`);
  return found;
};
const refusalOf = (balance: string, amount: string, limit: string): unknown => {
  try {
    assertNotNegative(units(balance), units(amount), units(limit));
    return undefined;
  } catch (error) {
    return error instanceof RelayError ? error.detail : error;
  }
};

describe('a recharge of a balance below zero', (check) => {
  check('may lead to zero and not to a unit less', () => {
    assert.is(refusalOf('-10', '10', '100'), undefined);
    const least = { kind: 'balance-stays-negative', balance: '-10.00000001', least: '10.00000001', limit: '100' };
    assert.equal(refusalOf('-10.00000001', '10', '100'), { ...least, isOverLimit: false });
  });

  check('can be made up to the limit of one recharge, and from there on by nobody here', () => {
    const refused = { kind: 'balance-stays-negative', limit: '100' };
    assert.equal(refusalOf('-100', '1', '100'), { ...refused, balance: '-100', least: '100', isOverLimit: false });
    const least = { balance: '-100.00000001', least: '100.00000001' };
    assert.equal(refusalOf('-100.00000001', '1', '100'), { ...refused, ...least, isOverLimit: true });
  });
});
