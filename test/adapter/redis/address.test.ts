import * as assert from 'uvu/assert';
import { parseRedisAddress, type RedisAddress } from '../../../src/adapter/redis/address.ts';
import { describe } from '../../check.ts';

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
const WRONG = [
  '',
  'h:6379',
  'http://h:6379',
  'redis://h:99999',
  'redis-cluster://',
  'redis-cluster://a:0',
  'redis-cluster://a:70000',
  'redis-cluster://a:7000,',
  'redis-cluster://a:7000/2',
  'redis-cluster://a b',
  'redis-cluster://a?sentinelPassword=x',
  'redis-sentinel://a:7000',
  'redis-sentinel://a:7000/',
  'redis-sentinel://a:7000/name/2',
  'redis-sentinel://a:7000/name?password=x',
  'redis-replica://a:7000',
  'redis-cluster://u:p@w@a:7000',
];

describe('the address of a shared Redis', (check) => {
  for (const [text, address] of GIVEN) check(`is read: ${text}`, () => assert.equal(parseRedisAddress(text), address));
  for (const text of WRONG) check(`is refused: ${text}`, () => assert.is(parseRedisAddress(text), undefined));
});
