import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { createViews, findHiding } from '../harness/at-once.ts';
import { gatewayOver, judging, shownTextOf } from '../harness/world.ts';
import { MARKER } from './disguises.ts';
import { INVISIBLE_DISGUISES, PRESENT_SIGNS } from './invisible-disguises.ts';

describe('a message in invisible characters', (check) => {
  const disguises = Object.entries({ ...INVISIBLE_DISGUISES, ...PRESENT_SIGNS });
  check('is tried in more than 150 disguises', () => assert.ok(disguises.length >= 150, String(disguises.length)));
  for (const [name, text] of disguises) {
    check(`is shown to the judge: ${name}`, () => {
      const [visible = '', second = ''] = createViews(text);
      assert.not.ok(visible.includes(MARKER), 'the visible text does not show it');
      // A stray sign may cost a character, never the message.
      const shown = [MARKER, 'how to build', 'bomb at home'].filter((part) => second.includes(part));
      assert.ok(shown.length > 0, JSON.stringify(second.slice(0, 200)));
      assert.ok(findHiding(text).includes('decoded'));
    });
  }
});

/** Writing that has invisible characters of its own, each as long as a page of it. */
const ORDINARY: Readonly<Record<string, string>> = {
  Persian: 'می\u200cخواهم کتاب\u200cهای خود را به خانه ببرم و نامه\u200cای بنویسم. نمی\u200cدانم چه می\u200cشود. ',
  Kurdish: 'ئه\u200cم كتێبه\u200c بۆ هه\u200cموو كه\u200cسه\u200c. ',
  Urdu: 'آپ\u200cکا خط مل\u200cگیا، شکریہ\u200c۔ ',
  Arabic: '\u200fمرحبا\u200f (hello) \u202bعالم\u202c \u2067test\u2069 ',
  Hebrew: 'שָׁל\u05b9\u034f\u05bdום\u200f, \u200eRFC 2119\u200e ',
  Syriac: 'ܫܠܡܐ\u200d ܥܠܝܟ\u200cܘܢ ',
  Hindi: 'क्\u200dष और र्\u200dय, श्री\u200cमान नमस्ते ',
  Marathi: 'दर्\u200dया, सुर्\u200dय, वाङ्\u200cमय ',
  Nepali: 'गर्\u200dयो, भन्\u200cनु ',
  Bengali: 'র্\u200dযাব, উদ্\u200cযোগ ',
  Gujarati: 'ક્\u200dષ, વાઙ્\u200cમય ',
  Punjabi: 'ਪ੍\u200dਰ ਸਤਿ\u200cਸ੍ਰੀ ',
  Odia: 'କ୍\u200dଷ ଓଡ଼ି\u200cଆ ',
  Tamil: 'க்\u200cஷ நன்\u200cறி ',
  Telugu: 'క్\u200cష సాఫ్ట్\u200cవేర్ ',
  Kannada: 'ಸಾಫ್ಟ್\u200cವೇರ್ ರ್\u200dಯ ',
  Malayalam: 'അവൻ\u200d വീട്ടിൽ\u200d പാചകം സോഫ്റ്റ്\u200cവെയർ ',
  Sinhala: 'ශ්\u200dරී ලංකාව, ක්\u200dෂණය ',
  Khmer: 'សួស្តី\u200bអ្នក\u200bសុខសប្បាយទេ\u200b ',
  Burmese: 'မင်္ဂလာ\u200bပါ\u200bနေကောင်းလား\u200b။ က\ufe00 ',
  Thai: 'สวัสดี\u200bครับ\u200bวันนี้\u200bอากาศ\u200bดี\u200bมาก ',
  Lao: 'ສະບາຍ\u200bດີ\u200bທ່ານ ',
  Tibetan: 'བཀྲ་\u200bཤིས་\u200bབདེ་ལེགས། ',
  Mongolian: 'ᠮᠣᠩᠭᠣᠯ\u180eᠠ ᠪᠢ\u180bᠴᠢᠭ ',
  Japanese: '葛\u{e0100}城市の辻\u{e0101}さん、渡邉\u{e0100}さん。 ',
  Chinese: '不\ufe00以\ufe01为 ',
  Korean: '\u115f\u1161 \u1112\u1160 옛한글 ',
  German: 'Donau\u00addampf\u00adschiff\u00adfahrts\u00adge\u00adsell\u00adschaft ',
  English: 'in\u00adter\u00adna\u00adtion\u00adal co\u00adop\u00ader\u00adation ',
  Dutch: 'over\u00adheids\u00addienst ',
  Finnish: 'epä\u00adjär\u00adjes\u00adtel\u00admäl\u00adli\u00adsyys ',
  emoji:
    '❤️ ☺️ 👍🏽 1️⃣ #️⃣ ©️ ☎︎ ✔︎ ➡️ 🅰️ 👁️\u200d🗨️ 👨\u200d👩\u200d👧\u200d👦 👩🏽\u200d🚀 🏳️\u200d🌈 🏴\u200d☠️ 👩\u200d❤️\u200d💋\u200d👨 🕵🏽\u200d♂️ ',
  'flags of England, Scotland and Wales': '🏴󠁧󠁢󠁥󠁮󠁧󠁿 vs 🏴󠁧󠁢󠁳󠁣󠁴󠁿 and 🏴󠁧󠁢󠁷󠁬󠁳󠁿 ',
  'mathematics with variants': 'a ∩\ufe00 b ≨\ufe00 c ',
  'names that may break': 'java.\u200blang.\u200bString and https://\u200bexample.\u200borg/\u200ba_\u200bb ',
  'a terminal with colours': '\x1b[31mred\x1b[0m and \x1b[1;32mgreen\x1b[0m ',
  'files one behind the other': '\ufeffname,value\r\n',
};

describe('ordinary writing with invisible characters', (check) => {
  check('is tried in more than 30 languages', () => assert.ok(Object.keys(ORDINARY).length > 35));
  for (const [name, piece] of Object.entries(ORDINARY)) {
    check(`costs one call, a line and a page of it: ${name}`, () => {
      for (const text of [piece.trimEnd(), piece.repeat(40)]) {
        assert.equal(createViews(text).slice(1), []);
        assert.equal(findHiding(text), []);
      }
    });
  }
});

// The same in every run, and no message in any channel.
const UNREADABLE = Array.from({ length: 60 }, (_, index) => String.fromCharCode(0x206a + ((index * index) % 5))).join(
  '',
);

describe('invisible characters that nobody can read', (check) => {
  check('are named in a second view, by number and kind', () => {
    const [visible, second = ''] = createViews(`A nice day.${UNREADABLE}`);
    assert.is(visible, 'A nice day.');
    assert.match(
      second,
      /^A nice day\.\n\[60 invisible characters were removed .*: \d+ x U\+206[BE], .*, 12 x U\+206A\]$/,
    );
    assert.equal(findHiding(`A nice day.${UNREADABLE}`), ['invisible']);
  });
  check('are named in few words, whatever their number and kinds', () => {
    const kinds = Array.from({ length: 400 }, (_, index) => String.fromCodePoint(0xe01f0 + index)).join('');
    const [visible = '', second = ''] = createViews(`Hello.${kinds.repeat(20)}`);
    assert.ok(second.length < visible.length + 400, String(second.length));
    assert.match(second, / and 392 other kinds\]$/);
  });
  check('are ordinary while they are few', () => {
    for (const text of ['b\0o\0mb', 'bo\u200bmb', '\ufeffa\u2060b', 'a\ufe00b c\ufe0fd'])
      assert.equal(findHiding(text), [], JSON.stringify(text));
  });
  check('are named where they were hidden inside another encoding', () => {
    const text = Buffer.from(`This is a nice day, my friend.${UNREADABLE}`).toString('base64');
    assert.equal(findHiding(text), ['decoded', 'invisible']);
    assert.match(createViews(text)[1] ?? '', /^This is a nice day, my friend\.\n\[60 invisible/);
  });
});

describe('x-moderation-hidden', (check) => {
  const HIDDEN = INVISIBLE_DISGUISES['tag characters, in one block'] ?? '';
  const CASES: Readonly<Record<string, string | readonly string[]>> = {
    none: 'an ordinary text ❤️',
    decoded: HIDDEN,
    invisible: `A nice day.${UNREADABLE}`,
    'decoded, invisible': ['an ordinary text', `A nice day.${UNREADABLE}`, HIDDEN],
  };
  for (const [value, input] of Object.entries(CASES)) {
    check(`says ${value}, also when the verdict is cached`, async () => {
      const { ask } = gatewayOver(judging());
      assert.is((await ask({ input })).headers.get('x-moderation-hidden'), value);
      const again = await ask({ input });
      assert.is(again.headers.get('x-moderation-cache'), 'hit');
      assert.is(again.headers.get('x-moderation-hidden'), value);
    });
  }
  check('goes with what the judge was shown', async () => {
    const { ask, calls } = gatewayOver(judging());
    await ask({ input: HIDDEN });
    assert.equal(calls.map((sent) => shownTextOf(sent).includes(MARKER)).sort(), [false, true]);
  });
});
