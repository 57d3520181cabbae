import { createContext, Script } from 'node:vm';
import { type OutputUnit, type Schema, Validator } from '@cfworker/json-schema';
import { type CompileSchema, isRecord, SchemaError } from '../../core/json.ts';

/** A pattern of a schema may take for ever, and the schema may come from anyone with a key. A check takes less than a millisecond. */
const CHECK_LIMIT_MS = 250;
/** How often a check is begun, where other processes had the processor in that time. */
const TRIES = 4;
/** Schemas that are applied to one value. Schemas of real programs have a few hundred; this many take 10 ms. */
const COST_LIMIT = 10_000;
const ERRORS_SHOWN = 5;
const ERROR_CHARS = 200;
/** Keywords that only say that something below them does not fit. */
const OUTER_KEYWORDS: ReadonlySet<string> = new Set([
  ...['properties', 'items', 'prefixItems', 'additionalItems', '$ref', 'allOf', 'patternProperties'],
  ...['additionalProperties', 'unevaluatedProperties', 'unevaluatedItems', 'propertyNames', 'if', 'then', 'else'],
  'dependentSchemas',
]);

/** Keywords whose schemas apply to the same value. */
const APPLIED_LISTS = ['allOf', 'anyOf', 'oneOf'];
const APPLIED = ['not', 'if', 'then', 'else'];

/** What a reference by a path points to; undefined for any other. */
const targetOf = (root: unknown, ref: unknown): unknown => {
  if (typeof ref !== 'string' || !/^#(?:\/|$)/.test(ref)) return undefined;
  let found = root;
  for (const step of ref.split('/').slice(1)) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
    if (Array.isArray(found)) found = found[Number(name)];
    else found = isRecord(found) && Object.hasOwn(found, name) ? found[name] : undefined;
  }
  return found;
};

/**
 * How many schemas are applied to one value, without those for its members: references that meet twice on each of thirty levels
 * make a billion of two kilobytes. References by ids and anchors count as one, and are left to the time limit.
 */
const costPerValue = (root: Readonly<Record<string, unknown>>): number => {
  const known = new Map<unknown, number>();
  const costOf = (schema: unknown): number => {
    if (!isRecord(schema)) return 1;
    const cost = known.get(schema);
    if (cost !== undefined) return cost;
    // A circle: to apply it fails anyway.
    known.set(schema, 1);
    const applied = [
      ...APPLIED_LISTS.flatMap((name) => schema[name] ?? []),
      ...[...APPLIED.map((name) => schema[name]), targetOf(root, schema.$ref)],
      ...(isRecord(schema.dependentSchemas) ? Object.values(schema.dependentSchemas) : []),
    ];
    const sum = applied.reduce<number>((total, one) => total + (one === undefined ? 0 : costOf(one)), 1);
    known.set(schema, sum);
    return sum;
  };
  return costOf(root);
};

const shorten = (text: string): string => text.slice(0, ERROR_CHARS).toWellFormed();
const lineOf = ({ instanceLocation, error }: OutputUnit): string =>
  shorten(`${instanceLocation.replace(/^#/, '') || 'the value'}: ${error}`);

/**
 * Whether a pattern repeats a group that holds a repetition or alternatives. With some of these, a text that is twice as long takes a
 * million times as long. Other patterns may take long for long texts alone.
 */
const mayTakeForEver = (pattern: string): boolean => {
  const outer: boolean[] = [];
  let isVaried = false;
  let closed = { at: -1, isVaried: false };
  const parts = pattern.matchAll(/\\.|\[(?:\\.|[^\]\\])*\]|\(\?|[()|?*+]|\{\d+(?:,\d*)?\}/gsu);
  for (const { 0: part, index } of parts) {
    if (part.startsWith('(')) {
      outer.push(isVaried);
      isVaried = false;
    } else if (part === ')') {
      closed = { at: index + 1, isVaried };
      isVaried = outer.pop() === true || isVaried;
    } else if (/^[*+{]/.test(part)) {
      if (index === closed.at && closed.isVaried) return true;
      isVaried ||= !/^\{\d+\}$/.test(part);
    } else if (part === '|' || part === '?') isVaried = true;
  }
  return false;
};

type JsonObject = Readonly<Record<string, unknown>>;

const TYPES: ReadonlySet<unknown> = new Set(['object', 'array', 'string', 'number', 'integer', 'boolean', 'null']);
const NUMBERS = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf', 'minLength', 'maxLength'];
const LISTS = ['allOf', 'anyOf', 'oneOf', 'prefixItems', 'enum'];
/** Keywords that hold a schema, a list of schemas, or schemas by name. */
const WITH_SCHEMA = [
  ...['items', 'additionalItems', 'unevaluatedItems', 'contains', 'additionalProperties', 'unevaluatedProperties'],
  ...['propertyNames', 'not', 'if', 'then', 'else'],
];
const WITH_SCHEMAS = ['allOf', 'anyOf', 'oneOf', 'prefixItems', 'items'];
const WITH_NAMED_SCHEMAS = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'];

const objectIn = (value: unknown): JsonObject => (isRecord(value) ? value : {});

/** The schemas in a schema, each with its path. */
const innerSchemas = (schema: JsonObject): readonly (readonly [string, unknown])[] => [
  ...WITH_SCHEMA.flatMap((name) => (isRecord(schema[name]) ? [[name, schema[name]] as const] : [])),
  ...WITH_SCHEMAS.flatMap((name) => {
    const list: readonly unknown[] = Array.isArray(schema[name]) ? schema[name] : [];
    return list.map((one, place) => [`${name}/${place}`, one] as const);
  }),
  ...WITH_NAMED_SCHEMAS.flatMap((name) =>
    Object.entries(objectIn(schema[name])).map(([key, one]) => [`${name}/${key}`, one] as const),
  ),
];

/** Whether a reference is one within the schema, as `#/$defs/name`, `#` or the name of an anchor. */
const isResolved = (root: JsonObject, reference: unknown): boolean => {
  if (typeof reference !== 'string' || !reference.startsWith('#')) return false;
  const anchor = `"$anchor":${JSON.stringify(reference.slice(1))}`;
  return targetOf(root, reference) !== undefined || JSON.stringify(root).includes(anchor);
};

const isPattern = (pattern: unknown, flags: '' | 'u' = 'u'): boolean => {
  try {
    return typeof pattern === 'string' && new RegExp(pattern, flags) !== undefined;
  } catch {
    return false;
  }
};

const ownProblem = (root: JsonObject, schema: JsonObject): string | undefined => {
  const { type, pattern, required, $ref } = schema;
  const types: readonly unknown[] = Array.isArray(type) ? type : [type ?? 'object'];
  if (!types.every((one) => TYPES.has(one))) return `/type: expected one of ${[...TYPES].join(', ')}`;
  if (required !== undefined && !(Array.isArray(required) && required.every((name) => typeof name === 'string')))
    return '/required: expected a list of names';
  if ($ref !== undefined && !isResolved(root, $ref)) return '/$ref: expected a reference within this schema';
  if (pattern !== undefined && !(isPattern(pattern) || isPattern(pattern, '')))
    return '/pattern: expected a regular expression';
  for (const name of Object.keys(objectIn(schema.patternProperties)))
    if (!isPattern(name) || mayTakeForEver(name)) return '/patternProperties: expected patterns that take no long time';
  const notNumber = NUMBERS.find((name) => schema[name] !== undefined && typeof schema[name] !== 'number');
  if (notNumber !== undefined) return `/${notNumber}: expected a number`;
  const notList = LISTS.find((name) => schema[name] !== undefined && !Array.isArray(schema[name]));
  if (notList !== undefined) return `/${notList}: expected a list`;
  const notNamed = WITH_NAMED_SCHEMAS.find((name) => schema[name] !== undefined && !isRecord(schema[name]));
  return notNamed === undefined ? undefined : `/${notNamed}: expected an object`;
};

/** What cannot be used in a schema, and where; undefined where nothing was found. Unknown keywords are passed over. */
const schemaProblem = (root: JsonObject, schema: unknown, at = ''): string | undefined => {
  if (typeof schema === 'boolean') return undefined;
  if (!isRecord(schema)) return `${at}: expected an object`;
  const own = ownProblem(root, schema);
  if (own !== undefined) return `${at}${own}`;
  for (const [path, inner] of innerSchemas(schema)) {
    const problem = schemaProblem(root, inner, `${at}/${path}`);
    if (problem !== undefined) return problem;
  }
  return undefined;
};

/** Whether the library can apply a pattern in time. It reads all with the flag u, which not every schema in use is written for. */
const isChecked = (pattern: string): boolean => isPattern(pattern) && !mayTakeForEver(pattern);

/** Changes a copy of a schema: takes out the patterns that are not checked. */
const removeUncheckedPatterns = (schema: unknown): void => {
  if (!isRecord(schema)) return;
  if (typeof schema.pattern === 'string' && !isChecked(schema.pattern)) Reflect.deleteProperty(schema, 'pattern');
  for (const [, inner] of innerSchemas(schema)) removeUncheckedPatterns(inner);
};

const isTimeout = (error: unknown): boolean => isRecord(error) && error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT';

/**
 * Calls a function, and throws when it has not returned after so many milliseconds. It is called again where this process did not
 * have the processor for half of them.
 */
const createCallWithin = (limitMs: number) => {
  const globals: { work?: () => unknown } = createContext({});
  const script = new Script('work()');
  return (work: () => void): void => {
    globals.work = work;
    const before = process.cpuUsage();
    const usedMs = (): number => {
      const { user, system } = process.cpuUsage(before);
      return (user + system) / 1000;
    };
    for (let tries = 1; ; tries += 1) {
      try {
        script.runInContext(globals, { timeout: limitMs });
        return;
      } catch (error) {
        if (!isTimeout(error) || tries === TRIES || usedMs() > limitMs / 2) throw error;
      }
    }
  };
};

const createValidator = (schema: JsonObject): Validator => {
  // The library adds members of its own to the schema, and refuses some ids in it.
  const copy = structuredClone(schema);
  removeUncheckedPatterns(copy);
  return new Validator(copy as Schema, '2020-12', false);
};

/**
 * Compiles schemas of the drafts 2019-09 and 2020-12. Nothing is fetched. A pattern that may take for ever is not
 * checked, nor one that is none with the flag u. A check ends with a `SchemaError` after 250 ms, and after that at once; on a busy
 * machine after a second at most.
 */
export const createSchemaCompiler = (): CompileSchema => {
  let callWithin: ReturnType<typeof createCallWithin> | undefined;
  return (schema) => {
    const problem = schemaProblem(schema, schema);
    if (problem !== undefined) throw new SchemaError(shorten(problem));
    if (costPerValue(schema) > COST_LIMIT)
      throw new SchemaError('the schema applies too many schemas to one value: its references multiply');
    let validator: Validator | undefined;
    let unusable: SchemaError | undefined;
    const errorsOf = (value: unknown): readonly OutputUnit[] => {
      if (unusable !== undefined) throw unusable;
      let errors: readonly OutputUnit[] = [];
      callWithin ??= createCallWithin(CHECK_LIMIT_MS);
      try {
        callWithin(() => {
          validator ??= createValidator(schema);
          errors = validator.validate(value).errors;
        });
      } catch (error) {
        const reason = error instanceof Error ? error.message : 'it takes too long';
        unusable = new SchemaError(`the schema cannot be applied: ${shorten(reason)}`);
        throw unusable;
      }
      return errors;
    };
    errorsOf({});
    return (value) => {
      const errors = errorsOf(value);
      if (errors.length === 0) return undefined;
      const inner = errors.filter(({ keyword }) => !OUTER_KEYWORDS.has(keyword));
      return (inner.length === 0 ? errors : inner).slice(0, ERRORS_SHOWN).map(lineOf).join('\n');
    };
  };
};
