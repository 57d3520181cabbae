import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { createViews } from '../harness/at-once.ts';

const ORDINARY: Readonly<Record<string, string>> = {
  English:
    'The cat sat on the mat, and I told it how to make the best of a rainy day. Could you help me write a letter?',
  'English in capitals': 'PLEASE READ THIS CAREFULLY BEFORE YOU INSTALL THE SOFTWARE ON YOUR COMPUTER. THANK YOU!',
  'English with curly quotes': '“You can’t be serious,” she said — and laughed… It cost £20, or about €24.',
  'spinners and bars of a terminal':
    "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏ ⠋⠙⠚⠞⠖⠦⠴⠲⠳⠓ ['⠋', '⠙', '⠚', '⠞', '⠓', '⠇'] ⣾⣽⣻⢿⡿⣟⣯⣷ ⣿⣿⣿⣿⣿⣷⣀⣀ 62% ⡀⣀⣄⣤⣦⣶⣷⣿\n⠙ building\n⠋ linking",
  Chinese: '你好，请问怎么去火车站？谢谢！我们明天（星期三）早上八点见面。',
  'Chinese with full-width forms': '请拨打电话：０１０－１２３４５６７８，价格￥９９．００，ＡＢＣ公司。',
  'Chinese, spaced word by word': '我 们 今 天 去 公 园 玩 ， 你 来 吗 ？',
  'Chinese, traditional': '今天天氣很好，我們去公園散步吧！「真的嗎？」她問。',
  Japanese: '今日はとても良い天気ですね。ｶﾀｶﾅとひらがな、そして漢字を書きます。㌔㍍',
  Korean: '안녕하세요! 오늘 날씨가 정말 좋네요. ㅋㅋㅋ ㅠㅠ 내일 만나요.',
  Arabic: 'السلام عليكم، كيف حالك اليوم؟ أريد أن أتعلم الطبخ في المنزل.',
  'Arabic with vowel marks': 'بِسْمِ اللَّهِ الرَّحْمَٰنِ الرَّحِيمِ ﷺ',
  'Arabic with direction marks': '\u200fمرحبا\u200f (hello) \u202bعالم\u202c \u2067test\u2069',
  Hebrew: 'שלום, מה שלומך היום? אני רוצה ללמוד לבשל בבית.',
  'Hebrew with points': 'בְּרֵאשִׁית בָּרָא אֱלֹהִים אֵת הַשָּׁמַיִם וְאֵת הָאָרֶץ׃',
  'Persian with joiners':
    'می\u200cخواهم کتاب\u200cهای خود را به خانه ببرم و نامه\u200cای بنویسم. نمی\u200cدانم چه می\u200cشود.',
  Urdu: 'آپ کیسے ہیں؟ مجھے ایک خط لکھنے میں مدد چاہیے۔',
  Thai: 'สวัสดีครับ วันนี้อากาศดีมาก ผมอยากเรียนทำอาหารที่บ้าน',
  'Thai with break marks': 'สวัสดี\u200bครับ\u200bวันนี้\u200bอากาศ\u200bดี\u200bมาก',
  Hindi: 'नमस्ते, आप कैसे हैं? मुझे घर पर खाना बनाना सीखना है। क्\u200dष और र्\u200dय',
  Bengali: 'আপনি কেমন আছেন? আমি বাড়িতে রান্না শিখতে চাই।',
  Tamil: 'வணக்கம், நீங்கள் எப்படி இருக்கிறீர்கள்? நான் சமைக்க கற்றுக்கொள்ள விரும்புகிறேன்.',
  Malayalam: 'നിങ്ങൾക്ക് സുഖമാണോ? അവൻ\u200d വീട്ടിൽ\u200d പാചകം ചെയ്യുന്നു.',
  Sinhala: 'ඔබට කොහොමද? ශ්\u200dරී ලංකාව ලස්සනයි.',
  Khmer: 'សួស្តី អ្នកសុខសប្បាយទេ?\u200bខ្ញុំចង់រៀនធ្វើម្ហូប',
  Burmese: 'မင်္ဂလာပါ၊ နေကောင်းလား။',
  Amharic: 'ሰላም፣ እንዴት ነህ? ምግብ ማብሰል መማር እፈልጋለሁ።',
  Georgian: 'გამარჯობა, როგორ ხარ? მინდა ვისწავლო საჭმლის მომზადება.',
  Armenian: 'Բարև, ինչպե՞ս ես։ Ես ուզում եմ սովորել պատրաստել։',
  Cherokee: 'ᎣᏏᏲ, ᏙᎯᏧ? ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ',
  Inuktitut: 'ᐃᓄᒃᑎᑐᑦ ᐅᖃᐅᓯᖅ',
  Vietnamese: 'Xin chào, bạn có khỏe không? Tôi muốn học nấu ăn ở nhà, được chứ? Nghĩa là gì?',
  'Vietnamese capitals': 'Đang ở Đà Nẵng, ĐẠI HỌC QUỐC GIA, Đức',
  'Vietnamese, decomposed': 'Tiếng Việt thường được viết bằng chữ Quốc ngữ'.normalize('NFD'),
  Russian: 'Кошка сидит на столе и смотрит в окно на улицу. Он ест суп, а она читает.',
  'Russian with abbreviations': 'Пришли мне SMSку или напиши на e-mail, у меня IT-отдел и USB-кабель. Купил VIPку.',
  'Russian with stress marks': 'за́мок и замо́к, мука́ и му́ка',
  'Russian words in English': 'The Russian word for bread is хлеб, and for milk молоко; the city is Москва.',
  Ukrainian: 'Привіт, як справи? Їжак їсть яблуко, а кіт п’є молоко.',
  Serbian: 'Здраво, како си? Љубав и њежност, ђак и џеп. Ja sam dobro, hvala.',
  Bulgarian: 'Здравейте, как сте? Искам да се науча да готвя вкъщи.',
  Kazakh: 'Сәлеметсіз бе? Мен үйде тамақ пісіруді үйренгім келеді.',
  Greek: 'Καλημέρα, πώς είσαι; Θέλω να μάθω να μαγειρεύω στο σπίτι με το iPhone μου.',
  'Greek, polytonic': 'Ἐν ἀρχῇ ἦν ὁ λόγος, καὶ ὁ λόγος ἦν πρὸς τὸν θεόν. ᾧ ᾗ',
  German:
    'Straße, Übergrößenträger und Donaudampfschifffahrtsgesellschaft. Können Sie mir bitte helfen? 20 % Rabatt am 1. Mai!',
  French: 'Où est la bibliothèque ? J’aimerais apprendre à cuisiner chez moi, s’il vous plaît. Ça coûte 12 €.',
  Spanish: '¿Dónde está la biblioteca? ¡Qué día tan bonito! El niño comió en casa con su tía.',
  Portuguese: 'Olá, tudo bem? Não sei cozinhar em casa, mas gostaria de aprender. Amanhã é terça-feira.',
  Italian: 'Ciao, come stai? Vorrei imparare a cucinare a casa, perché è più sano. Ci si vede!',
  Dutch: 'De kat zit op de tafel en kijkt door het raam naar buiten. Ik wil graag leren koken.',
  Swedish: 'Hej, hur mår du? Jag vill lära mig att laga mat hemma. Sju sjösjuka sjömän.',
  Danish: 'Rødgrød med fløde på en smuk ø. Østen for Øresund. Æblet ligger på bordet, og jeg købte det i går.',
  Icelandic: 'Halló, hvernig hefurðu það? Þetta er góður dagur til að elda mat heima.',
  Polish: 'Cześć, jak się masz? Chrząszcz brzmi w trzcinie w Szczebrzeszynie. Idę z psem i z kotem w las.',
  'Polish without marks': 'Czesc, jak sie masz? Chrzaszcz brzmi w trzcinie w Szczebrzeszynie, przyszedl zolw.',
  Czech: 'Strč prst skrz krk. Příliš žluťoučký kůň úpěl ďábelské ódy. Vlk zmrzl, zhltl hrst zrn.',
  Hungarian: 'Szia, hogy vagy? Árvíztűrő tükörfúrógép. Szeretnék otthon főzni tanulni.',
  Romanian: 'Bună ziua, ce mai faci? Aș vrea să învăț să gătesc acasă. Și tu?',
  Turkish: 'Merhaba, nasılsın? Evde yemek yapmayı öğrenmek istiyorum. Kapıyı aç, ışığı yak.',
  Azerbaijani: 'Salam, necəsən? Mən evdə yemək bişirməyi öyrənmək istəyirəm. Gözəl gündür.',
  Finnish: 'Hei, mitä kuuluu? Haluaisin oppia laittamaan ruokaa kotona. Hääyöaie ja epäjärjestelmällisyys.',
  Estonian: 'Tere, kuidas läheb? Tahaksin õppida kodus süüa tegema. Jäääär.',
  Latvian: 'Sveiki, kā jums klājas? Es gribētu iemācīties gatavot mājās.',
  Lithuanian: 'Labas, kaip sekasi? Norėčiau išmokti gaminti namuose. Ąžuolas žydi.',
  Basque: 'Kaixo, zer moduz? Etxean sukaldatzen ikasi nahi dut. Katua mahai gainean eserita dago.',
  Welsh: "Mae'r gath yn eistedd ar y bwrdd ac yn edrych allan drwy'r ffenestr. Sut wyt ti heddiw?",
  Irish: 'Tá an cat ina shuí ar an mbord agus ag féachaint amach an fhuinneog.',
  Swahili: 'Habari yako? Paka ameketi juu ya meza na anaangalia barabara kupitia dirisha.',
  Hawaiian: 'Ke noho nei ka pōpoki ma luna o ka pākaukau a ke nānā aku nei i ke alanui.',
  Yoruba: 'Ẹ káàárọ̀, ṣé dáadáa ni? Mo fẹ́ kọ́ bí a ṣe ń ṣe oúnjẹ nílé.',
  Ewe: 'Ŋdi, aleke nèle? Mele be masrɔ̃ nuɖaɖa le aƒeme. Ɖevia ɖe ŋkɔ na eɖokui.',
  Indonesian: 'Apa kabar? Saya ingin belajar memasak di rumah. Kucing itu duduk di atas meja.',
  Tagalog: 'Kumusta ka? Gusto kong matutong magluto sa bahay. Nakaupo ang pusa sa mesa.',
  'Chinese in pinyin': 'nǐ hǎo, wǒ xiǎng xué zuò fàn. Mao zuo zai zhuozi shang kan zhe chuang wai de jiedao.',
  'Japanese in Latin letters': 'Neko wa tsukue no ue ni suwatte, mado kara michi wo mite iru. Ohayou gozaimasu!',
  Latin: 'Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor incididunt.',
  Mongolian: 'Сайн байна уу? ᠮᠣᠩᠭᠣᠯ\u180e\u1820 ᠪᠢᠴᠢᠭ',
  Tibetan: 'བཀྲ་ཤིས་བདེ་ལེགས། ཁྱེད་རང་སྐུ་གཟུགས་བདེ་པོ་ཡིན་པས།',
  emoji: 'Great job! 😀🎉❤️ ☺️ ☎︎ 👍🏽 1️⃣ 2️⃣ 🅰️ 🅱️ 🆎 🅿️ Ⓜ️ ©️',
  'emoji families': '👨‍👩‍👧‍👦 👩🏽‍🚀 🏳️‍🌈 🏴‍☠️ 👩‍❤️‍💋‍👨 🧑‍🤝‍🧑 👁️‍🗨️',
  'flags of countries': 'Final: 🇩🇪🇫🇷🇮🇹🇪🇸 🇬🇧 🇺🇸🇺🇳🇪🇺',
  'flags of England, Scotland and Wales': '🏴󠁧󠁢󠁥󠁮󠁧󠁿 vs 🏴󠁧󠁢󠁳󠁣󠁴󠁿 and 🏴󠁧󠁢󠁷󠁬󠁳󠁿',
  'ideographs with variants': '葛󠄀城市の辻󠄁さん、渡邉󠄀さんと祇󠄀園で会う。',
  kaomoji: '¯\\_(ツ)_/¯ (╯°□°）╯︵ ┻━┻ ಠ_ಠ (づ｡◕‿‿◕｡)づ ʕ•ᴥ•ʔ',
  URL: 'See https://www.example.com/a/b%20c?q=caf%C3%A9&lang=en#top and http://user@host:8080/x_y-z.',
  'URL with ids':
    'https://youtu.be/dQw4w9WgXcQ https://docs.google.com/document/d/1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms/edit',
  'e-mail address': 'Write to jane.doe_99@mail.example.org or john@example.com; cc: a@b.co',
  markdown:
    '# Title\n\n- [ ] one\n- [x] **two**\n\n| a | b |\n|---|:-:|\n| 1 | 2 |\n\n---\n\n***\n\n> quote `code` [link](https://x.y)\n',
  'table of contents': 'Chapter 1 . . . . . . . . . . 5\nChapter 2 ............ 17\n- - - - - - - -\n. _ . _ . _ .',
  HTML: '<p class="x">Fish &amp; chips&nbsp;&lt;3 &#39;yes&#39; &#169; 2024 &#x20AC;5 &eacute;t&#233;</p><!-- note -->',
  JSON: '{"id":"a1b2c3","name":"J\\u00fcrgen M\\u00f6ller","tags":["x","y"],"n":1.5e-7,"ok":true,"path":"C:\\\\x64\\\\bin"}',
  JavaScript:
    "const readFile = async (path) => { const x1 = await fs.promises.readFile(path, 'utf8'); return x1 !== null && x1.length > 0 ? x1 : `${a}\\n`; };",
  TypeScript: 'export const f = <T,>(a: T[]): Map<string, T> => new Map(a.map((x, i) => [`k${i}`, x] as const));',
  Python: 'def f(a, b, c, d, e, g):\n    return [x**2 for x in range(10) if x % 2 == 0] # list\nprint(f"{a!r:>10}")',
  C: '#include <stdio.h>\nint main(void) { uint32_t x = 0xDEADBEEF; printf("\\x1b[31m%d\\n", x << 2); return 0; }',
  Rust: 'fn main() { let v: Vec<u8> = vec![1, 2, 3]; println!("{:?}", v.iter().map(|x| x + 1).collect::<Vec<_>>()); }',
  SQL: "SELECT u.id, u.name FROM users u LEFT JOIN orders o ON o.user_id = u.id WHERE o.total > 100 AND u.name LIKE 'A%';",
  shell:
    'curl -sSL -X POST "$URL/v1/x" -H "Content-Type: application/json" | jq -r \'.data[] | .id\' > /tmp/out.txt 2>&1',
  'regular expression': "/^(?:[a-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\\.[a-z0-9]+)*)@\\w+\\.\\w{2,}$/i",
  CSS: '.btn-primary:hover { color: #a1b2c3; background: url(data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==); }',
  diff: '--- a/file.ts\n+++ b/file.ts\n@@ -1,4 +1,4 @@\n-const a = 1;\n+const a = 2;\n',
  'log lines':
    '2024-11-05T14:30:00.123Z INFO [main] o.s.b.SpringApplication: Started in 4.2s (JVM 5.1) pid=4711 tid=0x7f3a',
  'stack trace':
    'Error: ENOENT\n    at Object.openSync (node:fs:601:3)\n    at getOptionsFromRootConfig (/app/dist/index.js:12:34)',
  'package names':
    'npm i @types/node@20.1.0 left-pad@1.3.0 log4j 2.17.1, neo4j, slf4j-api, k8s, i18n, l10n, a11y, e2e, utf8mb4, sha256, x86_64, arm64v8',
  UUID: '550e8400-e29b-41d4-a716-446655440000 and 6ba7b810-9dad-11d1-80b4-00c04fd430c8',
  hashes:
    'sha256 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 md5 d41d8cd98f00b204e9800998ecf8427e git 83378aad9f1b',
  'object ids': '507f1f77bcf86cd799439011 01ARZ3NDEKTSV4RRFFQ69G5FAV cjld2cjxh0000qzrmn831i7rn req_7Yb2KqLm0ZxT9aPw',
  'an SSH key': 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ5bKk3gkJQm8m0k8wYf3v6E1r5Xb0cQ7n2hT9yZpLdV user@host',
  'a signed token':
    'eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIiwiaWF0IjoxNTE2MjM5MDIyfQ.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c',
  'phone numbers': 'Call +1 (555) 010-9999, +49 30 901820, 06 65 72 74 61 63 or 0800 123 4567 ext. 42.',
  'card numbers': '4242 4242 4242 4242, 5555 5555 5555 4444, 4111111111111111, 378282246310005, 6011111111111117',
  IBAN: 'DE44 5001 0517 5407 3249 31 and GB82WEST12345698765432, BIC DEUTDEFF',
  'numbers in a row': '41 42 43 44 45 46 47 48, 98 102 110 105 99 120 118 101, 10 20 30 40 50 60 70 80 90 100',
  'long numbers': '3141592653589793238462643383279502884197169399375105820974944592307816406286',
  'binary numbers':
    '0000 0001 1010 1111, mask 11111111.11111111.11111111.00000000 and 01010101010101010101010101010101',
  'addresses of machines': '192.168.1.1, 2001:0db8:85a3:0000:0000:8a2e:0370:7334, 00:1A:2B:3C:4D:5E, fe80::1',
  'dates and times': '2024-02-29, 29.02.2024, 4th of July, 2nd, 3rd, 21st, 10am, 5pm, 1h30m, 5ft11in, the 1990s, 24/7',
  'names with digits, in prose':
    'IPv4first, socks5Proxy, chalk@latest and @scope/name, o1/o3/o4 and cl100k, H1N1 beat H5N1 at $5 a dose.',
  'names with digits':
    'mp3, H2O, b2b, COVID19, H1N1, H5N1, MP4, PS5, RTX4090, GPT4o, AK47, F16, U2, R2D2, C3PO, 3D, 4K, 5G, W3C, S3, EC2, Q3, A4, M1A1',
  chemistry: 'CH3CH2OH + O2 → CH3COOH + H2O; NaHCO3, C6H12O6, Fe2O3, CH3OH, NH4OH, H2SO4',
  postcodes: 'London SW1A 1AA, EC1A 1BB, W1T 3NL; Toronto M5V 3L9; Amsterdam 1012 AB',
  'money and signs':
    'It cost $100, US$5, A$AP Rocky, Ke$ha, C++, C#, 50% off, e.g. in the U.S.A. or the former U.S.S.R. (a.k.a. the Union), by J. R. R. Tolkien!',
  'sloppy typing': 'wow!!!that was great!How are you?ok...see u 2morrow @john @mary #fun gr8 b4 l8r',
  'IPA in slashes': 'The word “bird” is /bɜːd/, “queue” /kjuː/, “girl” /ɡɜːl/, “bit” /bɪt/; French /ʀy/ and /fijœʁ/.',
  'IPA in brackets': '[ˈbʏʀɪŋ], [t̪ʰɐ], [ɥiː], [ˈdɑɡ], [ɢɪʟɪ], [ʙɪɴɪ], [ɯɹʌʎ]',
  'mathematics with Greek letters':
    'E = hν, A = πr², sinα + cosβ = 1, Δv/Δt, F = ρgh, γmc², λx.x, μ = 0.5, σ² = Σ(x−μ)²/n, ∫ f(x)dx ≈ ½, x ≤ y, αx + βy',
  'science with Greek letters': 'TNFα, TGFβ1, IFNγ, NFκB, β-carotene, 5 μg, 10 kΩ, α-helix, PPARγ, Aβ42',
  LaTeX: '\\documentclass{article}\\begin{document}$\\frac{a}{b} + \\sum_{i=0}^{n} x_i^2 \\leq \\alpha$\\end{document}',
  algebra: 'x = a + b - c * d / e; let a, b, c, d, e, f be real; a b c d e f g h i j k l m n o p q r s t u v w x y z',
  'multiple choice': 'Answer A, B, C or D. Columns: A B C D E F G H. Vitamins A, B, C, D, E, K.',
  'spelling words used as words':
    'Alpha and Bravo teams met at the hotel in Lima, India; Romeo and Juliet, Mike and Oscar danced a tango.',
  chess: '1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Ba4 Nf6 5. O-O Be7 6. Re1 b5 7. Bb3 d6 8. c3 O-O',
  music: 'C G Am F | C G F C | Em D7 G | do re mi fa sol la ti do',
  DNA: 'ATGGCCATTGTAATGGGCCGCTGAAAGGGTGCCCGATAG and atggccattgtaatgggccgctgaaagggtgcccgatag',
  poem: 'O Rose, thou art sick!\nThe invisible worm,\nThat flies in the night,\nIn the howling storm:',
  'a list of words': 'apples\noranges\nbananas\nblackberries\nstrawberries\npomegranates\nwatermelons\n',
  abbreviations:
    'XML, HTTPS, JSON, CPU, GPU, NATO, UNESCO, IEEE 802.11, RFC 2119, ISO 8601, BRB, LOL, WTF, TL;DR, FYI, ASAP',
  'keyboard noise': 'asdf jkl; qwerty zxcvbn hjkl qwertz asdfghjkl xkcd',
  'camel case':
    'getElementsByTagNameNS, XMLHttpRequest, internationalizationSupportFactoryBean, some_snake_case_name, kebab-case-identifier-name',
  paths: '/usr/local/lib/python3.11/site-packages/numpy/core/_methods.py C:\\Windows\\System32\\drivers\\etc\\hosts',
  'superscripts and fractions': 'x² + y³ = ½, 10⁻⁶, H₂O, CO₂, 1ˢᵗ, ™ ® №5 ℃ Å ﬁrst ﬂight',
  'box drawing': '┌──┬──┐\n│ a│ b│\n└──┴──┘ ███▒▒ ▲▼ ★★★☆☆ →←',
  'old line ends': 'one\r\ntwo\rthree\n\n\nfour\tfive',
  'soft hyphens and joiners': 'Donau\u00addampf\u00adschiff and foo\u2060bar and \ufeffstart',
  'nothing but blanks': ' \n\t ',
  empty: '',
};

describe('ordinary text', (check) => {
  for (const [name, text] of Object.entries(ORDINARY)) {
    check(`${name} costs one model call`, () => {
      assert.equal(createViews(text).slice(1), []);
    });
  }
  check('all of it together costs one model call', () => {
    const english = Object.entries(ORDINARY).filter(([, text]) => /^[\n\t -~]*$/.test(text));
    for (const [name, text] of english)
      assert.is(createViews(`${ORDINARY.English}\n${text}\n${ORDINARY.English}`).length, 1, name);
  });
});
