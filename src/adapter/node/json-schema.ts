import { createContext, Script } from 'node:vm';
import { type OutputUnit, type Schema, Validator } from '@cfworker/json-schema';
import { type CompileSchema, isRecord, SchemaError } from '../../core/json.ts';

/**
 * A pattern of a schema may take for ever, and the schema may come from anyone with a key. A check takes less than a
 * millisecond; on a busy machine another process may be given the processor in the middle of it.
 */
const CHECK_LIMIT_MS = 250;
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
const LISTS = ['allOf', 'anyOf', 'oneOf'];
const SINGLE = ['not', 'if', 'then', 'else'];

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
      ...LISTS.flatMap((name) => schema[name] ?? []),
      ...[...SINGLE.map((name) => schema[name]), targetOf(root, schema.$ref)],
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

/** Calls a function, and throws when it has not returned after so many milliseconds. */
const createCallWithin = (limitMs: number) => {
  const globals: { work?: () => unknown } = createContext({});
  const script = new Script('work()');
  return (work: () => void): void => {
    globals.work = work;
    script.runInContext(globals, { timeout: limitMs });
  };
};

/** Compiles schemas of the drafts 2019-09 and 2020-12. Nothing is fetched. A check ends with a `SchemaError` after 250 ms, and after that at once. */
export const createSchemaCompiler = (): CompileSchema => {
  let callWithin: ReturnType<typeof createCallWithin> | undefined;
  return (schema) => {
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
          // The library adds members of its own to the schema, and refuses some ids in it.
          validator ??= new Validator(structuredClone(schema) as Schema, '2020-12', false);
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
