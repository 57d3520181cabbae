import * as assert from 'uvu/assert';
import { joinAdjacentTexts, parseContent } from '../../../src/bridge/openai/content.ts';
import { Fault } from '../../../src/core/fault.ts';
import { describe } from '../../check.ts';
import { refusalOf } from '../harness/recorded-outputs.ts';

const part = (given: unknown) => parseContent([given], 'content')[0];
const refused = (given: unknown) => refusalOf(() => part(given));
const mimeOf = (given: ReturnType<typeof part>) => (given?.type === 'file' ? given.mime : undefined);
const PDF = 'JVBERi0xLjc=';

describe("a message's content", (check) => {
  check('is a text, parts or nothing', () => {
    assert.equal(parseContent('hi', 'content'), [{ type: 'text', text: 'hi' }]);
    assert.equal(parseContent(null, 'content'), []);
    assert.equal(parseContent(undefined, 'content'), []);
    assert.equal(parseContent([], 'content'), []);
    assert.equal(
      parseContent(
        [
          { type: 'text', text: ' ' },
          { type: 'text', text: 'a' },
        ],
        'content',
      ),
      [{ type: 'text', text: 'a' }],
    );
  });

  check('is text under every name that texts have', () => {
    for (const type of ['text', 'input_text', 'output_text'])
      assert.equal(part({ type, text: 'a' }), { type: 'text', text: 'a' });
    assert.equal(part({ type: 'refusal', refusal: 'no' }), { type: 'text', text: 'no' });
  });

  check('holds images by data URLs, and never by an address', () => {
    const url = 'data:image/webp;charset=utf-8;base64,AAAA';
    assert.equal(part({ type: 'image_url', image_url: { url, detail: 'high' } }), {
      type: 'file',
      at: 'content[0].image_url.url',
      mime: 'image/webp',
      url,
    });
    assert.equal(part({ type: 'input_image', image_url: url }), {
      type: 'file',
      at: 'content[0].image_url',
      mime: 'image/webp',
      url,
    });
    const at = 'image_url_unsupported at content[0].image_url';
    for (const bad of [
      'http://127.0.0.1/x.png',
      'https://example.com/x.png',
      'file:///etc/passwd',
      'data:image/png,raw',
      'data:;base64,AAAA',
      'data:image/png;base64,',
      'data:image/png;base64,AAA',
      'data:image/png;base64,A\u4e00AA',
      '',
    ])
      assert.is(refused({ type: 'image_url', image_url: { url: bad } }), `${at}.url`, bad);
    assert.is(refused({ type: 'input_image', image_url: 'https://example.com/x.png' }), at);
  });

  check('holds recordings', () => {
    const given = (data: string, format: string) => ({ type: 'input_audio', input_audio: { data, format } });
    const file = (mime: string) => ({
      type: 'file',
      at: 'content[0].input_audio',
      mime,
      url: `data:${mime};base64,AAAA`,
    });
    assert.equal(part(given('AAAA', 'wav')), file('audio/wav'));
    assert.equal(part(given('AAAA', 'mp3')), file('audio/mpeg'));
    assert.is(refused(given('A A', 'wav')), 'invalid_value at content[0].input_audio.data');
    assert.is(refused(given('AAAA', 'a/b;c')), 'invalid_value at content[0].input_audio.format');
  });

  check('holds files, as data URLs or as bare base64 whose kind follows from their name', () => {
    const url = `data:application/pdf;base64,${PDF}`;
    const file = { type: 'file', at: 'content[0].file', mime: 'application/pdf', url, filename: 'a.pdf' };
    assert.equal(part({ type: 'file', file: { file_data: url, filename: 'a.pdf' } }), file);
    assert.equal(part({ type: 'file', file: { file_data: PDF, filename: 'a.pdf' } }), file);
    assert.equal(part({ type: 'input_file', file_data: PDF, filename: 'a.pdf' }), { ...file, at: 'content[0]' });
    assert.equal(part({ type: 'input_file', file_data: PDF }), {
      type: 'file',
      at: 'content[0]',
      mime: 'application/octet-stream',
      url: `data:application/octet-stream;base64,${PDF}`,
    });
  });

  check('holds files whose names end like a member of every object, and kinds in any case', () => {
    for (const filename of ['a.constructor', 'a.__proto__'])
      assert.equal(part({ type: 'input_file', file_data: PDF, filename }), {
        ...{ type: 'file', at: 'content[0]', mime: 'application/octet-stream', filename },
        url: `data:application/octet-stream;base64,${PDF}`,
      });
    const audio = (format: string) => part({ type: 'input_audio', input_audio: { data: 'AAAA', format } });
    assert.is(mimeOf(audio('constructor')), 'audio/constructor');
    assert.is(mimeOf(audio('MP3')), 'audio/mpeg');
    const url = 'data:IMAGE/PNG;charset=utf-8;base64,AAAA';
    assert.is(mimeOf(part({ type: 'input_image', image_url: url })), 'image/png');
  });

  check('holds no files that are only named', () => {
    const at = 'unsupported_value at content[0]';
    assert.is(refused({ type: 'file', file: { file_id: 'file-1' } }), `${at}.file.file_id`);
    assert.is(refused({ type: 'input_file', file_url: 'https://x' }), `${at}.file_url`);
    assert.is(refused({ type: 'input_image', file_id: 'file-1' }), `${at}.file_id`);
    assert.is(refused({ type: 'file', file: {} }), 'missing_required_parameter at content[0].file.file_data');
    assert.is(
      refused({ type: 'file', file: { file_data: 'no base64' } }),
      'invalid_value at content[0].file.file_data',
    );
  });

  check('says what to send in place of an address or an id', () => {
    const textOf = (given: unknown): string => {
      try {
        return JSON.stringify(part(given));
      } catch (error) {
        return error instanceof Fault && error.detail.kind === 'bad-input' ? error.detail.message : String(error);
      }
    };
    const image = textOf({ type: 'image_url', image_url: { url: 'https://example.com/x.png' } });
    assert.match(image, 'images are not fetched. Send the image itself, as data:image/png;base64,');
    assert.match(textOf({ type: 'input_image', file_id: 'file-1' }), "Send the image itself in 'image_url'");
    const file = "no files are stored here. Send the file itself in 'file_data', in base64";
    assert.match(textOf({ type: 'file', file: { file_id: 'file-1' } }), file);
    assert.match(textOf({ type: 'input_file', file_url: 'https://x' }), "Send the file itself in 'file_data'");
  });

  check('of tens of millions of characters is read without an error', () => {
    const url = `data:image/png;base64,${'A'.repeat(32_000_000)}`;
    const startedAt = performance.now();
    assert.is(parseContent([{ type: 'image_url', image_url: { url } }], 'content').length, 1);
    assert.ok(performance.now() - startedAt < 3000);
  });

  check('is one text where texts follow each other', () => {
    const file = { type: 'file' as const, mime: 'a/b', url: 'data:a/b;base64,AAAA' };
    const text = (words: string) => ({ type: 'text' as const, text: words });
    assert.equal(joinAdjacentTexts([text('a'), text('b'), file, text('c'), text('d')]), [
      text('a\n\nb'),
      file,
      text('c\n\nd'),
    ]);
    assert.equal(joinAdjacentTexts([]), []);
  });
});
