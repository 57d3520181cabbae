import * as assert from 'uvu/assert';
import * as v from 'valibot';
import { BaseUrl, resolveRelayAddress } from '../../../src/relay-admin/settings.ts';
import { describe } from '../../check.ts';
import { INSIDE, OUTSIDE, TAKEN, TRICKS } from './samples.ts';

const hostIn = (url: string): string => new URL(url).hostname;
const errorsAbout = (url: string): readonly string[] =>
  v.safeParse(BaseUrl, url).issues?.map(({ message }) => message) ?? [];

describe("the relay's base URL", (check) => {
  for (const [url, origin] of TAKEN) {
    check(`may be ${url}`, () => {
      assert.equal(errorsAbout(url), []);
      assert.equal(resolveRelayAddress(url, hostIn(url)), { origin, host: hostIn(url) });
    });
  }

  check('may have blanks around it, as files and shells leave them', () => {
    assert.is(v.parse(BaseUrl, ' https://relay.example\n'), 'https://relay.example');
  });

  for (const url of INSIDE) {
    check(`may be without encryption inside: ${url}`, () => {
      assert.equal(errorsAbout(url), []);
      assert.equal(resolveRelayAddress(url, hostIn(url)), { origin: url, host: hostIn(url) });
    });
  }

  for (const url of OUTSIDE) {
    check(`is encrypted outside: ${url} is refused`, () => {
      const errorTexts = errorsAbout(url);
      assert.is(errorTexts.length, 1);
      assert.match(errorTexts[0] ?? '', /^expected https, because the admin key would cross a public network/);
      assert.equal(errorsAbout(url.replace('http:', 'https:')), []);
    });
  }

  for (const [trick, urls] of Object.entries(TRICKS)) {
    check(`has not ${trick}`, () => {
      for (const url of urls) {
        const errorTexts = errorsAbout(url);
        assert.is(errorTexts.length, 1, JSON.stringify(url));
        assert.match(errorTexts[0] ?? '', /^expected http\(s\):\/\/host/, JSON.stringify(url));
        // Not an address either, whatever host is allowed: that which is shown, and that which the parser finds.
        const allowed = ['relay.example', 'evil.com', 'localhost', '127.0.0.1', '[::1]', 'relay', ''];
        const parsed = URL.canParse(url) ? [hostIn(url)] : [];
        for (const host of [...allowed, ...parsed])
          assert.type(resolveRelayAddress(url, host), 'string', `${JSON.stringify(url)} for ${host}`);
      }
    });
  }

  check('is no other value than a text', () => {
    for (const given of [undefined, null, 7, new URL('https://relay.example'), ['https://relay.example']])
      assert.not(v.is(BaseUrl, given));
  });
});
