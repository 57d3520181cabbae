import * as assert from 'uvu/assert';
import { detectKnownError } from '../../src/llm/known-errors.ts';
import { describe } from '../check.ts';
import { type Meaning, REAL_ERRORS } from './real-servers.ts';

const SAID: Readonly<Partial<Record<Meaning, readonly [kind: string, reason?: RegExp]>>> = {
  busy: ['busy'],
  'too long': ['final', /longer than the context of the model/],
  'no thinking': ['final', /"think" in MODERATION_MODELS/],
  'no template': ['final', /chat template fails/],
  unusable: ['unusable', /does not have the form/],
};

describe('the words of a server', (check) => {
  for (const [name, { meaning, status, text }] of Object.entries(REAL_ERRORS)) {
    const [kind, reason] = SAID[meaning] ?? [];
    check(`${kind === undefined ? 'are no more than a status' : `mean "${meaning}"`}: ${name}`, () => {
      const known = detectKnownError(status, text);
      assert.is(known?.kind, kind);
      if (reason !== undefined) assert.match(known !== undefined && 'reason' in known ? known.reason : '', reason);
    });
  }

  check('are not those of a judged text that it repeats, nor of an answer', () => {
    for (const { status, text } of Object.values(REAL_ERRORS)) {
      const { error } = JSON.parse(text) as { error?: string | { message: string } };
      const message = typeof error === 'string' ? error : (error?.message ?? '');
      const repeated = JSON.stringify({ error: { message: `Cannot judge: ${message}` } });
      assert.is(detectKnownError(status, repeated), undefined, repeated);
      assert.is(detectKnownError(200, text), undefined);
    }
  });

  check('are not read out of what is no error body', () => {
    for (const text of ['', 'Loading model', '<html>server busy', '[]', 'null', '{"error":null}', '{"error":{}}'])
      for (const status of [400, 500, 503]) assert.is(detectKnownError(status, text), undefined, text);
  });
});
