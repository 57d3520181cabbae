import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { createViews, findHiding } from '../harness/at-once.ts';

const MESSAGE = 'a message that no decoder reads, for its bytes were changed before they were hidden';
const codesOf = (change: (code: number) => number): readonly number[] =>
  [...MESSAGE].map((char) => change(char.charCodeAt(0)) & 0xff);
const CHANGES: Readonly<Record<string, (code: number) => number>> = {
  XORed: (code) => code ^ 0x95,
  rotated: (code) => code + 101,
  'XORed and rotated': (code) => (code ^ 0x5a) + 77,
};
const bitsOf = (codes: readonly number[]): readonly number[] =>
  codes.flatMap((code) => Array.from({ length: 8 }, (_, index) => (code >> index) & 1));
const repeated = (text: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => [...text][index % [...text].length] ?? '');
const strewn = (text: string, signs: readonly string[]): string =>
  repeated(text, signs.length)
    .map((char, index) => char + signs[index])
    .join('');
const inBits = (text: string, zero: string, one: string, codes: readonly number[]): string =>
  strewn(
    text,
    bitsOf(codes).map((bit) => (bit === 1 ? one : zero)),
  );

const BOOK =
  'Die wirt\u00adschaft\u00adli\u00adche Ent\u00adwick\u00adlung der ge\u00adsam\u00adten Re\u00adgi\u00adon wur\u00adde von zahl\u00adrei\u00adchen Un\u00adter\u00adneh\u00admen be\u00adglei\u00adtet, de\u00adren Ver\u00adwal\u00adtung sich in der Haupt\u00adstadt be\u00adfand. All\u00adge\u00admei\u00adne Be\u00addin\u00adgun\u00adgen re\u00adgel\u00adten die Be\u00adför\u00adde\u00adrung von Rei\u00adsen\u00adden und Ge\u00adpäck\u00adstü\u00adcken. Grund\u00adle\u00adgen\u00adde Vor\u00adaus\u00adset\u00adzun\u00adgen des Zu\u00adsam\u00admen\u00adle\u00adbens wa\u00adren fest\u00adge\u00adschrie\u00adben. ';
const hyphenated = (codes: readonly number[]): string => {
  const bits = bitsOf(codes);
  let index = 0;
  return BOOK.repeat(Math.ceil(bits.length / 70)).replace(/\u00ad/g, (sign) => (bits[index++] === 1 ? sign : ''));
};

const HAN = '今天天气很好我们去公园散步然后喝茶聊';
const WAYS: Readonly<Record<string, (codes: readonly number[]) => string>> = {
  'selectors behind ideographs': (codes) =>
    strewn(
      HAN,
      codes.map((code) => String.fromCodePoint(0xe0100 + (code % 240))),
    ),
  'few selectors behind each ideograph': (codes) => inBits(HAN, '\u{e0100}', '\u{e0101}', codes),
  'joiners in Mongolian': (codes) => inBits('ᠮᠣᠩᠭᠣᠯ', '\u200c', '\u200d', codes),
  'joiners in Persian, there or not': (codes) => inBits('کتابهایخودرابهخانهببرمونامه', '', '\u200c', codes),
  'selectors in Mongolian': (codes) => inBits('ᠪᠢᠴᠢᠭ', '\u180b', '\u180c', codes),
  'VS15 and VS16 behind one emoji': (codes) => inBits('😀', '\ufe0e', '\ufe0f', codes),
  'VS15 and VS16 behind several emoji': (codes) => inBits('❤☺☎✔➡☀☁', '\ufe0e', '\ufe0f', codes),
  'VS16 behind hearts, there or not': (codes) => inBits('❤', '', '\ufe0f', codes),
  'joiners between pictures, there or not': (codes) => `${inBits('👩🚀', '', '\u200d', codes)}👩`,
  'soft hyphens, there or not': hyphenated,
  'soft hyphens in a script without known syllables': (codes) => inBits('ქართულიენისწიგნი', '', '\u00ad', codes),
  'zero-width spaces in Thai, there or not': (codes) => inBits('สวัสดีครับวันนี้อากาศดีมาก', '', '\u200b', codes),
  'direction marks beside one Hebrew letter': (codes) => `א${inBits('the river was calm', '\u200e', '\u200f', codes)}`,
};

describe('a message in invisible characters where each has an ordinary place', (check) => {
  for (const [way, write] of Object.entries(WAYS))
    for (const [change, apply] of Object.entries(CHANGES))
      check(`does not vanish: ${way}, ${change}`, () => {
        const text = write(codesOf(apply));
        assert.ok(findHiding(text).length > 0);
        assert.ok((createViews(text)[1] ?? '').length > 0);
      });
  check('is named by number and kind', () => {
    const text = inBits(
      '😀',
      '\ufe0e',
      '\ufe0f',
      codesOf((code) => code ^ 0x95),
    );
    const [visible = '', second = ''] = createViews(text);
    assert.not.match(visible, /invisible characters were removed/);
    assert.match(second, /\[664 invisible characters were removed .*: \d+ x U\+FE0[EF], \d+ x U\+FE0[EF]\]$/);
  });
});

const ORDINARY: Readonly<Record<string, string>> = {
  'a book with a soft hyphen at every point': BOOK.repeat(20),
  'an English book, with syllables of one letter':
    'The med\u00adi\u00adcal pro\u00adfes\u00adsion and the phys\u00adi\u00adcal uni\u00adver\u00adsi\u00adty of Amer\u00adi\u00adca have vis\u00adi\u00adble prob\u00adlems with an\u00adi\u00admals and hos\u00adpi\u00adtals. '.repeat(
      20,
    ),
  'names with the same selector each time': `${'葛\u{e0100}城市の辻\u{e0101}さんは今日も公園へ行きました。'.repeat(30)}辻堂の葛`,
  'hearts of two phones': `${'❤️ thanks ☺️ '.repeat(30)}${'❤ '.repeat(8)}`,
  'Persian with joiners in most places': `${'می\u200cخواهم کتاب\u200cهای خود را به خانه ببرم. نمی\u200cدانم چه می\u200cشود. '.repeat(20)}${'میخواهم کتابهای خود را. '.repeat(5)}`,
  'text with marks around each Latin word': 'שלום \u200eRFC 2119\u200e עולם \u200eHTTP\u200e שלום '.repeat(40),
};

describe('invisible characters of regular writing', (check) => {
  for (const [name, text] of Object.entries(ORDINARY))
    check(`cost one call: ${name}`, () => assert.equal([findHiding(text), createViews(text).length], [[], 1]));
});
