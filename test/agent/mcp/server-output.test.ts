import * as assert from 'uvu/assert';
import { formatLastStderr } from '../../../src/agent/mcp/servers.ts';
import { describe } from '../../check.ts';

describe('the last words of a program', (check) => {
  check('are one short line, without what Node adds to an error', () => {
    const written = `/srv/tools.js:3\nthrow new Error('no')\n      ^\n\nError: no such\tthing\u202e\n    at run (/srv/tools.js:3:7)\n\nNode.js v18.20.4\n`;
    assert.is(formatLastStderr(written, []), "/srv/tools.js:3 throw new Error('no') Error: no such thing");
    assert.is(
      formatLastStderr(`${'first '.repeat(30)}\nsecond\n${'third '.repeat(20)}`, []),
      `second ${'third '.repeat(20)}`.trim(),
    );
    assert.ok(formatLastStderr('x'.repeat(4000), []).length <= 200);
    assert.is(formatLastStderr(' \n\n  at x (y)\n', []), '');
  });

  check('hold none of the secrets that it was given, and none that look like one', () => {
    const secrets = ['hunter2', 'hunter2-and-more', '30'];
    assert.is(
      formatLastStderr('wrong: hunter2-and-more, hunter2; within 30 s', secrets),
      'wrong: [redacted], [redacted]; within 30 s',
    );
    assert.is(
      formatLastStderr('refused: api_key=abc Bearer 0123456789', []),
      'refused: api_key=[redacted] Bearer [redacted]',
    );
  });
});
