import * as fc from 'fast-check';
import * as assert from 'uvu/assert';
import { errorTextFor } from '../../../../src/relay-admin/errors/error-text.ts';
import { RelayError } from '../../../../src/relay-admin/errors/errors.ts';
import { formatErrorText } from '../../../../src/relay-admin/errors/format.ts';
import { matchRoute } from '../../../../src/relay-admin/read/match.ts';
import { ROUTES } from '../../../../src/relay-admin/read/routes.ts';
import { describe, thorough } from '../../../check.ts';
import { codePoint } from '../../../code-points.ts';
import { problemOf } from './world.ts';

const kindFor = (path: string): string => problemOf(() => matchRoute(path)).detail.kind;

const NO_IDS = ['0', '00', '007', '9007199254740992', '9999999999999999', '12345678901234567', '1'.repeat(40)];

describe('a path to read', (check) => {
  check('that no route has is refused as such', () => {
    for (const path of ['', 'settings', '../settings', 'users/%2e%2e/settings', 'users/me', 'USERS/7', '__proto__'])
      assert.is(kindFor(path), 'route-not-allowed', path);
  });
  for (const id of NO_IDS) {
    check(`is refused with the id ${id.slice(0, 20)}`, () => {
      assert.is(kindFor(`users/${id}`), 'invalid-argument');
      assert.is(kindFor(`/api/v1/admin/accounts/${id}/stats`), 'invalid-argument');
      const text = formatErrorText(errorTextFor(problemOf(() => matchRoute(`users/${id}`)).detail));
      assert.match(text, 'path: expected an id from 1 to 9007199254740991, without leading zeros.');
    });
  }
  check('is refused with a hint where parameters go when it carries them itself', () => {
    for (const path of ['users?page=2', 'users/1?x=1', 'users?', '?', 'settings?x']) {
      assert.is(kindFor(path), 'invalid-argument');
    }
    assert.match(
      formatErrorText(errorTextFor(problemOf(() => matchRoute('users?page=2')).detail)),
      /parameters into query/,
    );
  });
  check('means the same in its short and in its full form', () => {
    for (const path of ['users', 'users/7', 'users/9007199254740991', 'users/7/balance-history', 'groups/all']) {
      assert.is(matchRoute(path).path, path);
      assert.is(matchRoute(`/api/v1/admin/${path}`).path, path);
      assert.is(matchRoute(`/api/v1/admin/${path}`).route, matchRoute(path).route);
    }
  });
  check('takes a name for a name and a number for an id', () => {
    assert.is(matchRoute('groups/all').route.template, 'groups/all');
    assert.is(matchRoute('groups/usage-summary').route.template, 'groups/usage-summary');
    assert.is(matchRoute('groups/3').route.template, 'groups/:id');
  });
  check('leads to every route of the allow-list', () => {
    for (const route of ROUTES) assert.is(matchRoute(route.template.replaceAll(':id', '42')).route, route);
  });
  check('is one that the allow-list spells out, or is refused', () => {
    const templates = ROUTES.map(({ template }) => new RegExp(`^${template.replaceAll(':id', '[1-9][0-9]{0,15}')}$`));
    const piece = fc.oneof(
      fc.constantFrom(...ROUTES.flatMap(({ template }) => template.split('/'))),
      fc.constantFrom(
        '/',
        '//',
        '.',
        '..',
        '%2f',
        '%2e',
        '\\',
        '?',
        '#',
        '@',
        ':',
        ' ',
        '\n',
        '/api/v1/admin/',
        'data',
      ),
      fc.nat().map(String),
      fc.string({ unit: codePoint, maxLength: 3 }),
    );
    const paths = fc.oneof(
      fc.string({ unit: codePoint }),
      fc.webUrl(),
      fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join('')),
      fc.array(piece, { maxLength: 5 }).map((pieces) => pieces.join('/')),
    );
    fc.assert(
      fc.property(paths, (given) => {
        let path: string;
        try {
          path = matchRoute(given).path;
        } catch (error) {
          assert.instance(error, RelayError);
          return;
        }
        assert.ok(given === path || given === `/api/v1/admin/${path}`, JSON.stringify(given));
        assert.ok(
          templates.some((template) => template.test(path)),
          JSON.stringify(given),
        );
        assert.is(new URL(path, 'http://relay.test/api/v1/admin/').href, `http://relay.test/api/v1/admin/${path}`);
      }),
      { numRuns: thorough(500, 3000) },
    );
  });
});
