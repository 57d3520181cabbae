import * as assert from 'uvu/assert';
import { resolveRelayAddress } from '../../../src/relay-admin/settings.ts';
import { describe } from '../../check.ts';

describe('the allowed host', (check) => {
  const MISMATCHES = [
    'evil.com',
    'relay.example.',
    '.relay.example',
    'Relay.example',
    'RELAY.EXAMPLE',
    'relay.example:8443',
    'https://relay.example',
    'relay.example/',
    'example',
    'relay.example.evil.com',
    'sub.relay.example',
    '*',
    '*.example',
    '',
    ' relay.example',
    'relay.example,evil.com',
  ];
  for (const host of MISMATCHES) {
    check(`is the host of the base URL to the letter: ${JSON.stringify(host)} is not`, () => {
      const errorText = resolveRelayAddress('https://relay.example:8443', host);
      assert.match(String(errorText), /^RELAY_ALLOWED_HOST: expected the host name of RELAY_BASE_URL/);
    });
  }

  check('has brackets when it is an IPv6 address, as in the URL', () => {
    assert.equal(resolveRelayAddress('http://[::1]:8080', '[::1]'), { origin: 'http://[::1]:8080', host: '[::1]' });
    assert.type(resolveRelayAddress('http://[::1]:8080', '::1'), 'string');
  });
});
