import { array, boolean, property as given, integer, assert as property } from 'fast-check';
import * as assert from 'uvu/assert';
import { splitWindows } from '../../../src/gateway/text/normalize.ts';
import { describe } from '../../check.ts';

// Every character differs, so that a window can stand in one place only; some take two code units.
const distinctText = array(boolean(), { maxLength: 400 }).map((wide) =>
  wide.map((isWide, index) => String.fromCodePoint((isWide ? 0x20000 : 0x4e00) + index)).join(''),
);
const anySize = integer({ min: 2, max: 120 });

type Place = { readonly from: number; readonly to: number };
const placesOf = (text: string, size: number): readonly Place[] =>
  splitWindows(text, size).map((window) => {
    const from = text.indexOf(window);
    return { from, to: from + window.length };
  });

const holds = (text: string, size: number, isTrue: (place: Place, previous: Place | undefined) => boolean): boolean => {
  const places = placesOf(text, size);
  return places.every((place, index) => place.from >= 0 && isTrue(place, places[index - 1]));
};

describe('windowsOf', (check) => {
  check('leaves a text that fits in one piece', () => {
    assert.equal(splitWindows('', 10), ['']);
    assert.equal(splitWindows('0123456789', 10), ['0123456789']);
  });
  check('overlaps by a tenth, and fills the last window', () => {
    assert.equal(splitWindows('0123456789abcdefghijk', 10), ['0123456789', '9abcdefghi', 'bcdefghijk']);
  });
  check('overlaps by at most 1000 characters', () => {
    const text = Array.from({ length: 30_000 }, (_, index) => String.fromCharCode(0x3400 + index)).join('');
    assert.equal(placesOf(text, 24_000), [
      { from: 0, to: 24_000 },
      { from: 6_000, to: 30_000 },
    ]);
    assert.is(placesOf(text, 12_000)[1]?.from, 11_000);
  });
  check('keeps surrogate pairs whole', () => {
    property(
      given(distinctText, anySize, (text, size) => splitWindows(text, size).every((window) => window.isWellFormed())),
    );
  });
  check('makes no window longer than asked', () => {
    property(given(distinctText, anySize, (text, size) => holds(text, size, ({ from, to }) => to - from <= size)));
  });
  check('covers every character, with an overlap where the size has space for one', () => {
    property(
      given(distinctText, anySize, (text, size) => {
        const overlap = size >= 20 ? 1 : 0;
        const isCovered = holds(
          text,
          size,
          ({ from }, previous) => from <= (previous?.to ?? 0) - (previous ? overlap : 0),
        );
        return isCovered && placesOf(text, size).at(-1)?.to === text.length;
      }),
    );
  });
  check('has no window inside another', () => {
    property(
      given(distinctText, anySize, (text, size) =>
        holds(text, size, ({ from, to }, previous) => !previous || (from > previous.from && to > previous.to)),
      ),
    );
  });
  check('cuts lone surrogates, and lets a window hold a pair whatever the size', () => {
    assert.is(splitWindows('\ud800\udc00'.repeat(3), 0).join(''), '\ud800\udc00'.repeat(3));
    assert.ok(splitWindows('\ud800'.repeat(100), 10).every((window) => window.length <= 10));
  });
});
