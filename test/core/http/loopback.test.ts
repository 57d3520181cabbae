import * as assert from 'uvu/assert';
import { isFromLocalProgram, isLoopback } from '../../../src/core/http/auth.ts';
import { describe } from '../../check.ts';

const asked = (headers: Record<string, string>): boolean =>
  isFromLocalProgram(new Request('http://ignored.example/', { headers }));

describe('an address to listen on', (check) => {
  check('is of this machine alone, or not', () => {
    for (const host of ['127.0.0.1', '127.255.0.9', 'localhost', 'LocalHost', '::1', '[::1]'])
      assert.ok(isLoopback(host), host);
    for (const host of [
      '',
      '0.0.0.0',
      '::',
      '[::]',
      '192.168.1.5',
      '10.127.0.1',
      '127.0.0.1.example',
      'localhost.example',
      'notlocalhost',
      '1270.0.0.1',
      '127.0.0',
      '::11',
      '127.0.0.1:80',
    ])
      assert.not.ok(isLoopback(host), host);
  });
});

describe('a request', (check) => {
  check('is of a program of this machine by the name that it asks under', () => {
    for (const host of ['127.0.0.1', '127.0.0.1:4100', 'localhost:4100', 'LOCALHOST', '[::1]:4100', '[::1]'])
      assert.ok(asked({ host }), host);
    for (const host of [
      'evil.example',
      'localhost.evil.example',
      'evil.example:4100',
      '127.0.0.1.evil.example',
      '::1',
      'localhost:x',
      '10.0.0.1',
    ])
      assert.not.ok(asked({ host }), host);
    assert.not.ok(asked({}));
  });

  check('is of a page of this machine by its origin, and of no other page', () => {
    const host = 'localhost:4100';
    for (const origin of ['http://localhost:3000', 'https://127.0.0.1', 'http://[::1]:5173', 'HTTP://localhost'])
      assert.ok(asked({ host, origin }), origin);
    for (const origin of [
      'https://evil.example',
      'http://localhost.evil.example',
      'null',
      'http://evil.example:4100',
      'chrome-extension://localhost',
      'https://http://localhost',
      'http://localhost/x',
    ])
      assert.not.ok(asked({ host, origin }), origin);
    assert.not.ok(asked({ host: 'evil.example', origin: 'http://localhost' }));
  });
});
