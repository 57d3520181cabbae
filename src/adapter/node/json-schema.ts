import { createContext, Script } from 'node:vm';
import { type OutputUnit, type Schema, Validator } from '@cfworker/json-schema';
import { type CompileSchema, SchemaError } from '../../core/json.ts';

/**
 * A pattern of a schema may take for ever, and the schema may come from anyone with a key. A check takes less than a
 * millisecond; on a busy machine another process may be given the processor in the middle of it.
 */
const CHECK_LIMIT_MS = 250;
const ERRORS_SHOWN = 5;
const ERROR_CHARS = 200;
/** Keywords that only say that something below them does not fit. */
const OUTER_KEYWORDS: ReadonlySet<string> = new Set([
  ...['properties', 'items', 'prefixItems', 'additionalItems', '$ref', 'allOf', 'patternProperties'],
  ...['additionalProperties', 'unevaluatedProperties', 'unevaluatedItems', 'propertyNames', 'if', 'then', 'else'],
  'dependentSchemas',
]);

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
