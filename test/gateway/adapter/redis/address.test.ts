import * as assert from 'uvu/assert';
import { ConfigError } from '../../../../src/core/config.ts';
import { parseRedisAddress, type RedisAddress } from '../../../../src/gateway/adapter/redis/address.ts';
import { describe } from '../../../check.ts';

const SEVERAL = {
  isTls: false,
  username: undefined,
  password: undefined,
  primary: '',
  sentinelPassword: undefined,
} as const;
const A = { host: 'a', port: 7000 };
const GIVEN: readonly (readonly [string, RedisAddress])[] = [
  ['redis://h:6379/2', { kind: 'server', url: 'redis://h:6379/2' }],
  ['rediss://u:p@h', { kind: 'server', url: 'rediss://u:p@h' }],
  ['redis-cluster://a:7000', { ...SEVERAL, kind: 'cluster', nodes: [A] }],
  [
    'redis-cluster://a:7000,b.svc,[::1]:7002',
    { ...SEVERAL, kind: 'cluster', nodes: [A, { host: 'b.svc', port: 6379 }, { host: '::1', port: 7002 }] },
  ],
  [
    'rediss-cluster://me:p%40ss@a:7000',
    { ...SEVERAL, kind: 'cluster', nodes: [A], isTls: true, username: 'me', password: 'p@ss' },
  ],
  ['redis-cluster://:p%zz@a:7000', { ...SEVERAL, kind: 'cluster', nodes: [A], password: 'p%zz' }],
  [
    'redis-sentinel://a,b:7001/mymaster',
    {
      ...SEVERAL,
      kind: 'sentinel',
      nodes: [
        { host: 'a', port: 26_379 },
        { host: 'b', port: 7001 },
      ],
      primary: 'mymaster',
    },
  ],
  [
    'rediss-sentinel://:pw@a:7000/main?sentinelPassword=s%2Fp',
    {
      ...SEVERAL,
      kind: 'sentinel',
      nodes: [A],
      isTls: true,
      password: 'pw',
      primary: 'main',
      sentinelPassword: 's/p',
    },
  ],
];
const FORMS = /^REDIS_URL: expected redis:\/\/host:port, redis-cluster/;
const CREDENTIALS = /^REDIS_URL: user and password: expected @, \/ and \? in them as %40, %2F and %3F$/;
const DATABASE = /^REDIS_URL: database: expected none/;
const PRIMARY = /^REDIS_URL: primary: expected the name that the Sentinels know/;
const QUERY = /^REDIS_URL: after the \?: expected sentinelPassword=/;
const hostOf = (place: string): RegExp => new RegExp(`^REDIS_URL: host ${place}: expected host:port`);
/** What is wrong, part by part. */
const WRONG: readonly (readonly [string, readonly RegExp[]])[] = [
  ['', [FORMS]],
  ['canary:6379', [FORMS]],
  ['http://canary:6379', [FORMS]],
  ['redis-replica://canary:7000', [FORMS]],
  ['redis://canary:99999', [FORMS]],
  ['redis://:canary/canary@h:6379', [FORMS]],
  ['redis-cluster://', [hostOf('1 of 1')]],
  ['redis-cluster://canary:0', [hostOf('1 of 1')]],
  ['redis-cluster://a,canary:70000,c', [hostOf('2 of 3')]],
  ['redis-cluster://canary:7000,', [hostOf('2 of 2')]],
  ['redis-cluster://canary b', [hostOf('1 of 1')]],
  ['redis-cluster://a:7000/2', [DATABASE]],
  ['redis-cluster://a:7000/', [DATABASE]],
  ['redis-cluster://a?sentinelPassword=canary', [/^REDIS_URL: expected no \? after the hosts/]],
  ['redis-cluster://u:canary@w@a:7000', [CREDENTIALS]],
  ['redis-cluster://u:canary/canary@a:7000', [CREDENTIALS]],
  ['redis-cluster://u:canary?canary@a:7000', [CREDENTIALS]],
  ['redis-sentinel://a:7000', [PRIMARY]],
  ['redis-sentinel://a:7000/', [PRIMARY]],
  ['redis-sentinel://a:7000/canary/2', [PRIMARY]],
  ['redis-sentinel://a:7000/name?password=canary', [QUERY]],
  ['redis-sentinel://a:7000/name?sentinelPasswort=canary', [QUERY]],
  ['redis-sentinel://a:7000/name?sentinelPassword=canary&x=canary', [QUERY]],
  ['redis-sentinel://canary:0,b?canary=x', [hostOf('1 of 2'), PRIMARY, QUERY]],
];

describe('the address of a shared Redis', (check) => {
  for (const [text, address] of GIVEN) check(`is read: ${text}`, () => assert.equal(parseRedisAddress(text), address));
  for (const [text, expected] of WRONG)
    check(`is refused by the part that is wrong, and never quoted: ${text}`, () => {
      try {
        parseRedisAddress(text);
      } catch (error) {
        assert.instance(error, ConfigError);
        const { problems } = error as ConfigError;
        assert.is(problems.length, expected.length, problems.join('\n'));
        for (const [index, problem] of problems.entries()) assert.match(problem, expected[index] ?? /^$/);
        assert.not.match(problems.join('\n'), /canary/);
        return;
      }
      assert.unreachable('It was read');
    });
});
