import * as assert from 'uvu/assert';
import { retryAfterMs } from '../../src/core/retry.ts';
import { describe } from '../check.ts';

const NOW = Date.UTC(2026, 10, 6, 8, 49, 37);
const HOUR_MS = 3_600_000;

describe('Retry-After', (check) => {
  check('is read as seconds, whole or with decimals', () => {
    assert.is(retryAfterMs('1', NOW), 1_000);
    assert.is(retryAfterMs(' 20 ', NOW), 20_000);
    assert.is(retryAfterMs('1.5', NOW), 1_500);
    assert.is(retryAfterMs('7.6601', NOW), 7_661);
  });

  check('is read as a date in each of the three forms of HTTP', () => {
    for (const date of [
      'Fri, 06 Nov 2026 08:51:37 GMT',
      'Friday, 06-Nov-26 08:51:37 GMT',
      'Fri Nov  6 08:51:37 2026',
    ]) {
      assert.is(retryAfterMs(date, NOW), 120_000, date);
    }
  });

  check('never counts for more than an hour', () => {
    for (const header of ['3600', '3601', '1000000000', '9'.repeat(400), 'Sat, 07 Nov 2026 08:49:37 GMT']) {
      assert.is(retryAfterMs(header, NOW), HOUR_MS, header);
    }
  });

  check('is not believed when it asks for less than a second or for the past', () => {
    const headers = ['0', '0.999', '-1', '-0', 'Fri, 06 Nov 2026 08:49:37 GMT', 'Thu, 05 Nov 2026 08:49:37 GMT'];
    for (const header of headers) assert.is(retryAfterMs(header, NOW), undefined, header);
    assert.is(retryAfterMs('Fri, 06 Nov 2026 08:49:38 GMT', NOW + 1), undefined, '999 ms from now');
  });

  check('says nothing when it is absent or garbage', () => {
    const headers = [
      '',
      ' ',
      'soon',
      'soon 1',
      '1e9',
      '0x10',
      '+5',
      '5s',
      '5 s',
      '5, 5',
      '1.',
      '.5',
      'NaN',
      'Infinity',
    ];
    const dates = ['2026-11-07', '2026-11-06T09:49:37Z', '06 Nov 2026 09:49:37', 'Fri, 06 Xxx 2026 09:49:37 GMT'];
    for (const header of [...headers, ...dates, null]) assert.is(retryAfterMs(header, NOW), undefined, String(header));
  });
});
