import * as assert from 'uvu/assert';
import { toModelFile } from '../../../src/agent/model/ai-sdk-input.ts';
import { describe } from '../../check.ts';

const reported = (mime: string, url: string, filename?: string) =>
  toModelFile({ mime, url, ...(filename === undefined ? {} : { filename }) });

describe('an attached file', (check) => {
  check('of text is reported as its text, with its name', () => {
    assert.equal(reported('text/plain', 'data:text/plain;base64,w6TDtg==', 'a.txt'), {
      kind: 'text',
      text: 'a.txt:\näö',
    });
    assert.equal(reported('text/plain; charset=utf-8', 'data:text/plain,50%25'), { kind: 'text', text: '50%' });
    for (const mime of ['application/json', 'text/x-python', 'TEXT/HTML', 'application/xml'])
      assert.equal(reported(mime, 'data:a/b,{}'), { kind: 'text', text: '{}' });
    assert.equal(reported('text/plain', 'data:text/plain;base64,', 'empty.txt'), {
      kind: 'text',
      text: 'empty.txt:\n',
    });
  });

  check('of an image or a PDF is sent as it is', () => {
    for (const mime of ['image/png', 'image/webp', 'application/pdf', 'IMAGE/JPEG'])
      assert.equal(reported(mime, 'data:a/b;base64,AAAA', 'x'), { kind: 'file', data: 'AAAA', mediaType: mime });
    assert.equal(reported('image/png; a=b', 'data:a/b;base64,AAAA'), {
      kind: 'file',
      data: 'AAAA',
      mediaType: 'image/png',
    });
  });

  check('that cannot be sent is reported in a line, and fails nothing', () => {
    const line = (what: string) => ({ kind: 'text', text: `[attached ${what}: cannot be shown to this model]` });
    const zip = `data:application/zip;base64,${'A'.repeat(4000)}`;
    assert.equal(reported('application/zip', zip, 'all.zip'), line('all.zip, application/zip, 3 kB'));
    assert.equal(reported('image/svg+xml', 'data:image/svg+xml,<svg/>'), line('file, image/svg+xml, 6 bytes'));
    assert.equal(reported('image/png', 'data:image/png;base64,'), line('file, image/png, 0 bytes'));
    assert.equal(reported('audio/ogg', 'data:audio/ogg;base64,AAAA'), line('file, audio/ogg, 3 bytes'));
    // What is no sound data: URL may be in a session that came from elsewhere.
    for (const url of [
      'data:image/png;base64,A',
      `data:image/png;base64,${'A'.repeat(20_001)}`,
      `data:image/png;base64,${'A'.repeat(20_003)}*`,
      'https://elsewhere/x.png',
      'file:///etc/passwd',
      '',
    ])
      assert.equal(reported('image/png', url), line('file, image/png, 0 bytes'));
    assert.equal(reported('text/plain', 'data:text/plain,%zz', 'a.txt'), line('a.txt, text/plain, 0 bytes'));
    assert.equal(reported('', 'data:a/b;base64,AAAA', 'a\n]b\u202e'), line('a ]b, of unknown type, 3 bytes'));
  });
});
