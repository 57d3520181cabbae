import * as assert from 'uvu/assert';
import { RelayError } from '../../../../src/relay-admin/errors/errors.ts';
import { ROUTES } from '../../../../src/relay-admin/read/routes.ts';
import { describe } from '../../../check.ts';
import { readOf } from './world.ts';

/** An object that has every field: each an object or a list of objects as `shape` says, and the given value at its end. */
const withEveryField = (shape: readonly ('object' | 'list')[], leaf: unknown): object => {
  const [next, ...rest] = shape;
  const inner = next === undefined ? leaf : withEveryField(rest, leaf);
  const value = next === 'list' ? [inner] : inner;
  return new Proxy(
    {},
    {
      get: (_target, name) => (typeof name === 'string' ? value : undefined),
      ownKeys: () => ['one'],
      getOwnPropertyDescriptor: () => ({ configurable: true, enumerable: true, value }),
    },
  );
};
const SHAPES = [1, 2, 3].reduce<readonly (readonly ('object' | 'list')[])[]>(
  (shapes) => [[], ...shapes.flatMap((shape) => [['object', ...shape] as const, ['list', ...shape] as const])],
  [[]],
);
/** The paths of all fields of a result, with whether one is redacted. */
const fieldsOf = (data: unknown, path = ''): readonly (readonly [path: string, isRedacted: boolean])[] => {
  if (typeof data !== 'object' || data === null) return [[path, data === '[redacted]']];
  return Object.entries(data).flatMap(([name, inner]) =>
    fieldsOf(inner, Array.isArray(data) ? `${path}[]` : `${path}.${name}`),
  );
};
/** All fields of all routes that the tool shows for this value, and those that it redacts. */
const shownFields = async (leaf: unknown) => {
  const all = new Map<string, boolean>();
  for (const { template } of ROUTES) {
    const path = template.replaceAll(/:[a-z_]+/gi, '1');
    for (const shape of SHAPES) {
      const item = withEveryField(shape, leaf);
      for (const answer of [item, [item], { items: [item], total: 1 }]) {
        const read = await readOf(answer, { path }).catch((error: unknown) => {
          if (error instanceof RelayError && error.detail.kind === 'upstream-contract') return undefined;
          throw error;
        });
        if (read === undefined) continue;
        const { data } = read.result as { data: unknown };
        for (const [field, isRedacted] of fieldsOf(data, template))
          all.set(field, isRedacted || all.get(field) === true);
      }
    }
  }
  return { all: [...all.keys()], redacted: [...all].flatMap(([field, isRedacted]) => (isRedacted ? [field] : [])) };
};

describe('a field that the tool may show', (check) => {
  /** Ids and counts of keys, and flags about them. A text in their place may be a key. */
  const ABOUT_KEYS = [
    ...['ingress-rejections', 'request-errors', 'upstream-errors'].flatMap((name) => [
      `ops/${name}.items[].api_key_id`,
      `ops/${name}[].api_key_id`,
    ]),
    'prompt-audit/config.endpoints[].has_token',
    'risk-control/config.api_key_configured',
    'risk-control/config.api_key_count',
    'risk-control/logs.items[].api_key_id',
    'risk-control/status.pre_block_api_key_active',
    'risk-control/status.pre_block_api_key_available_count',
  ];
  for (const [what, leaf, hidden] of [
    ['a number', 5, []],
    ['a flag', true, []],
    ['a word', 'word', ABOUT_KEYS],
  ] as const) {
    check(`is shown when it is ${what}, on every route`, async () => {
      const { all, redacted } = await shownFields(leaf);
      assert.ok(all.length > 200, `${all.length}`);
      assert.equal(redacted.toSorted(), hidden);
      if (leaf === true) assert.ok(all.includes('accounts.items[].credentials_status.one'));
    });
  }
});
