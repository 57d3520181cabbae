import * as fc from 'fast-check';
import * as assert from 'uvu/assert';
import { errorTextFor } from '../../../../src/relay-admin/errors/error-text.ts';
import { formatErrorText } from '../../../../src/relay-admin/errors/format.ts';
import { buildQuery, matchRoute } from '../../../../src/relay-admin/read/match.ts';
import { describe } from '../../../check.ts';
import { problemOf } from './world.ts';

const users = matchRoute('users').route;
const errorFor = (path: string, query: Readonly<Record<string, unknown>>): string =>
  formatErrorText(errorTextFor(problemOf(() => buildQuery(matchRoute(path).route, query)).detail));

describe('the parameters of a read', (check) => {
  check('are sent as they were given, with what is always sent', () => {
    assert.equal(buildQuery(users, { status: 'active', page: 3, page_size: '50' }), {
      page: '3',
      page_size: '50',
      include_subscriptions: false,
      status: 'active',
    });
    assert.equal(buildQuery(matchRoute('accounts').route, {}), { page: 1, page_size: 20, lite: true });
  });
  check('cannot take the place of what is always sent', () => {
    assert.match(errorFor('users', { include_subscriptions: true }), /this route takes only page, page_size/);
    assert.match(errorFor('accounts', { lite: false }), /this route takes only/);
  });
  check('are none that the route does not name', () => {
    for (const name of [
      'search',
      'attr[1]',
      'force',
      'source',
      'constructor',
      'toString',
      'hasOwnProperty',
      'Page',
      '',
    ]) {
      assert.match(errorFor('users', { [name]: 'x' }), /this route takes only page, page_size, status, role/);
    }
    assert.match(errorFor('users/7', { page: 1 }), /this route takes no parameters/);
  });
  check('stay where the relay honours them', () => {
    for (const page of [0, -1, 1.5, 10_001, '1e3', '01', ' 1', true, null, [1], {}, Number.NaN]) {
      assert.match(errorFor('users', { page }), /query\.page: expected a whole number from 1 to 10000/);
    }
    for (const size of [0, 101, 1001, '']) {
      assert.match(errorFor('users', { page_size: size }), /query\.page_size: expected a whole number from 1 to 100/);
    }
  });
  check('are dates, zones, models and words of the form that they have', () => {
    const trend = matchRoute('dashboard/trend').route;
    const good = {
      start_date: '2026-01-31',
      timezone: 'America/Argentina/Ushuaia',
      model: 'claude-3-5:v2/x.y',
      user_id: 7,
    };
    assert.equal(buildQuery(trend, good), { ...good, user_id: '7' });
    const bad: readonly Record<string, unknown>[] = [
      { start_date: '2026-13-01' },
      { start_date: '2026-1-1' },
      { start_date: '2026-01-01T00:00:00Z' },
      { start_date: '2026-01-01\n' },
      { timezone: '../etc' },
      { timezone: '/UTC' },
      { timezone: `${'a'.repeat(65)}` },
      { model: 'a b' },
      { model: 'ü' },
      { user_id: '0' },
      { granularity: 'minute' },
    ];
    for (const query of bad) assert.is(problemOf(() => buildQuery(trend, query)).detail.kind, 'invalid-argument');
  });
  check('are never quoted in an error', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^zz[a-z]{6}$/), fc.stringMatching(/^ZZ[A-Z]{6} !$/), (name, value) => {
        assert.not.match(errorFor('users', { [name]: value }), new RegExp(name));
        assert.not.match(errorFor('users', { status: value }), /ZZ/);
      }),
    );
  });
});
