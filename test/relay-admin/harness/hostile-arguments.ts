import {
  type Arbitrary,
  array,
  boolean,
  constant,
  constantFrom,
  dictionary,
  double,
  emailAddress,
  jsonValue,
  oneof,
  record,
  string,
  tuple,
} from 'fast-check';
import { codePoint } from '../../code-points.ts';
import { TOOLS, type ToolName } from './tool-arguments.ts';

/** Stands in arguments that are wrong; no refusal may repeat it. */
export const ARGUMENT = 'ZXARGUMENT';

/** Ways out of the fixed paths, of the origin and of the header that a value is sent in. */
export const HOSTILE_PATHS: readonly string[] = [
  ...['../settings', '%2e%2e/settings', '..%2fsettings', '//evil.example/x', 'https://evil.example/x', 'http:users'],
  ...['\\\\evil.example\\x', '1?x=1', '1#y', '1\n/../a', '1/../../keys', 'users/1/api-keys', 'users/1%2Fapi-keys'],
  ...['groups/1/api-keys', 'accounts/data', 'accounts/1/usage', 'proxies', 'proxies/1', 'proxies/data', 'usage'],
  ...['redeem-codes', 'redeem-codes/export', 'promo-codes', 'settings', 'settings/admin-api-key', 'compliance'],
  ...['settings/admin-api-key/regenerate', 'compliance/accept', 'backups/1/download-url', 'backups/s3-config'],
  ...['data-management/config', 'channel-monitors', 'ops/errors', 'ops/system-logs', 'audit-logs', 'payment/orders'],
  ...['users/', '/users', 'users//1', 'users/1/', 'users/01', 'users/0', 'users/-1', 'users/+1', 'users/1e0'],
  ...['users/0x1', 'users/1.0', 'users/\uff11', 'users/\u0663', 'users/9007199254740993', 'users/1/../2', 'users/.'],
  ...['users/1;x', 'users;/../settings', 'users/1\u0000', 'users\r\nX-Api-Key: x', 'USERS', 'users ', ' users'],
  ...['/api/v1/admin/../settings', '/api/v1/admin//users', '/API/v1/admin/users', 'api/v1/admin/users'],
  ...['/api/v1/admin/api/v1/admin/users', 'users?search=sk-', 'users#', 'users/%31', 'users/1%00', 'users/:id'],
  ...['file:///etc/passwd', 'javascript:alert(1)', '@evil.example/users', 'users@evil.example', '127.0.0.1/users'],
  ...['health', '/health', 'constructor', '__proto__', 'toString', 'users/constructor', 'users/__proto__'],
  ...['/', 'users//7', '//evil.test/x', 'https://evil.test/x', 'http://relay.test/api/v1/admin/users'],
  ...['relay.test/api/v1/admin/users', '\\\\evil\\x', 'users\\7', '@evil.test/users', 'users@evil.test'],
  ...['users:80', 'users/../settings', 'users/7/../../settings', 'users/..', './users', 'users/%2e%2e/settings'],
  ...['users/%37', 'users/1#y', 'users/1\n/../a', 'users/7\n', 'users/7\r\n', 'users/7\u0000', 'users/7\t'],
  ...[' users/7', 'users/7 ', 'users /7', 'USERS/7', 'Users/7', 'users/٧', 'users/７', 'users/７/balance-history'],
  ...['users/7\u200b', 'users／7', 'us\u202eers/7', 'users/+7', 'users/1e3', 'users/0x7', 'users/1_000', 'users/me'],
  ...['users/all', 'users/7/7', 'accounts/:id/usage', 'groups/all/stats', '/api/v1/admin', '/api/v1/admin/'],
  ...['/api/v1/admin/users/', '/api/v1/admin/../users', '/api/v1/admin//api/v1/admin/users', '/api/v1/users'],
  ...['/api/v2/admin/users'],
];

const TEXTS: readonly string[] = [
  ...HOSTILE_PATHS,
  ...[
    '12.5\n',
    '1e3',
    '+1',
    '-1',
    '0',
    '0.000000001',
    '\uff11',
    '1,5',
    ' 1',
    '1_0',
    'NaN',
    'Infinity',
    '0x10',
    '10001',
  ],
  ...['gpt-5\r\nX-Api-Key: x', 'gpt-5\u0000', 'gpt-5\u202e', 'gpt 5', '../gpt-5', 'a@b.example\r\nBcc: c@d.example'],
  ...['"a"@b.example', "a'@b.example", 'a%40b@c.example', 'a&role=admin@b.example', 'a#b@c.example', 'a+b=c@d.example'],
  ...[
    'a?b@c.example',
    'a;b,c@d.example',
    'a\\@b.example',
    '\u{1f600}@b.example',
    'a@\u0131.example',
    'A\u030a@b.example',
  ],
  ...[
    'true',
    'null',
    'undefined',
    '[object Object]',
    '',
    ' ',
    '\u200b',
    '\ud800',
    `${ARGUMENT}@`,
    `${ARGUMENT} ${ARGUMENT}`,
  ],
  ...[
    `${ARGUMENT}/x`,
    'key-0000000000000001\r\nX-Api-Key: x',
    'key-000000000000000\u00e9',
    'k'.repeat(129),
    'k'.repeat(15),
  ],
];

const NAMES: readonly string[] = [
  ...['user_id', 'account_id', 'amount', 'email', 'path', 'query', 'model', 'preview_token', 'idempotency_key'],
  ...['rpm_limit', 'concurrency', 'unlimited', 'expected', 'schedulable', 'reason', 'page', 'page_size', 'search'],
  ...[
    'api_key',
    'x-api-key',
    'authorization',
    'headers',
    'method',
    'url',
    'host',
    'body',
    'operation',
    'notes',
    'balance',
  ],
  ...['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', '_meta', ARGUMENT],
];

const text = oneof(constantFrom(...TEXTS), string({ unit: codePoint, maxLength: 30 }), string({ maxLength: 12 }));
const number = oneof(
  constantFrom(0, -0, 1, 2, 5, -1, 1.5, 60, 2 ** 31, 2 ** 53, 1e21, Number.NaN, Number.POSITIVE_INFINITY, -1e-9),
  double(),
);
const whatever = oneof(
  text,
  number,
  boolean(),
  jsonValue({ maxDepth: 3 }),
  array(text, { maxLength: 3 }),
  dictionary(constantFrom(...NAMES), oneof(text, number), { maxKeys: 3 }),
  constantFrom(null, undefined, { toString: 1 }, { length: 3 }, ['users'], { path: 'users' }),
);

/** Arguments that a tool takes as they are. */
const GOOD: Readonly<Record<ToolName, Readonly<Record<string, unknown>>>> = {
  describe: {},
  health: {},
  read: { path: 'users', query: { page: 1 } },
  find_user: { email: 'alice@example.com' },
  preview_recharge: { user_id: 2, amount: '1' },
  recharge: { preview_token: `rp1.2.100000000.1250000000.${'0'.repeat(12)}`, idempotency_key: 'key-0000000000000001' },
  update_user_limits: { user_id: 2, rpm_limit: 30 },
  set_account_schedulable: { account_id: 1, schedulable: true },
  model_control_options: { model: 'gpt-5' },
};

/** Own fields, the one called `__proto__` among them, as a JSON parser makes them. */
const merged = (...parts: readonly object[]): object =>
  Object.fromEntries(parts.flatMap((part) => Object.entries(part)));

const oneBent = (name: ToolName): Arbitrary<unknown> => {
  const names = Object.keys(GOOD[name]);
  if (names.length === 0) return whatever;
  return tuple(constantFrom(...names), whatever).map(([field, value]) => merged(GOOD[name], { [field]: value }));
};

const readArguments = record(
  {
    path: oneof(text, constantFrom('users', 'accounts', 'users/2/balance-history', 'dashboard/trend', 'usage/stats')),
    query: oneof(dictionary(oneof(constantFrom(...NAMES), text), whatever, { maxKeys: 4 }), whatever),
  },
  { requiredKeys: ['path'] },
);
const extras = dictionary(constantFrom(...NAMES), whatever, { maxKeys: 3 });

/** A tool, and arguments that somebody may send who means harm, has no idea, or has luck. */
export const hostileCall: Arbitrary<readonly [ToolName, unknown]> = constantFrom(...TOOLS).chain((name) =>
  tuple(
    constant(name),
    oneof(
      { weight: 4, arbitrary: oneBent(name) },
      { weight: 2, arbitrary: extras.map((more) => merged(GOOD[name], more)) },
      { weight: 2, arbitrary: name === 'read' ? readArguments : extras },
      { weight: 1, arbitrary: whatever },
    ),
  ),
);

const EMAIL_PARTS = constantFrom(...`abc"'%&=#?+/\\;:,<>()[]{}|^~\`$!*.-_ \u00e9\u0130\u{1f600}\u202e\r\n\t\u0000@`);
const local = string({ unit: EMAIL_PARTS, minLength: 1, maxLength: 40 });

/** Addresses from the ordinary to what no mail server would take. */
export const strangeEmail: Arbitrary<string> = oneof(
  emailAddress(),
  tuple(local, local).map(([left, right]) => `${left}@${right}`),
);

const nested = (levels: number): unknown => {
  let value: unknown = ARGUMENT;
  for (let level = 0; level < levels; level += 1) value = level % 2 === 0 ? [value] : { query: value };
  return value;
};
// Made once: they are given for each argument of each tool.
const LONG = ARGUMENT.repeat(100_000);
const DEEP = nested(50_000);
const MANY = Object.fromEntries(Array.from({ length: 50_000 }, (_, index) => [`${ARGUMENT}${index}`, index]));
const VALUES = [LONG, '1'.repeat(1_000_000), `${'a.'.repeat(500_000)}@b.example`, DEEP, Array(100_000).fill(1)];

/** As much, or as deep, as a line of input may be. */
export const largeArguments = (name: ToolName): readonly unknown[] => [
  LONG,
  [LONG],
  DEEP,
  { [LONG]: 1 },
  MANY,
  ...Object.keys(GOOD[name]).flatMap((field) => VALUES.map((value) => ({ ...GOOD[name], [field]: value }))),
];
