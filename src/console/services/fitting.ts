import * as v from 'valibot';

/** A text that may be missing, or anything else, which is taken as missing. */
export const OptionalText = v.optional(v.fallback(v.optional(v.string()), undefined));

/** A time in milliseconds, as a date can have. */
export const Instant = v.pipe(v.number(), v.minValue(0), v.maxValue(8.64e15));

/** The items of a list that fit a schema, at most `limit`. What another release sends beside them is left out. */
export const fitting = <Schema extends v.GenericSchema>(
  schema: Schema,
  value: unknown,
  limit: number,
): readonly v.InferOutput<Schema>[] =>
  (Array.isArray(value) ? value : []).slice(0, limit).flatMap((item: unknown) => {
    const result = v.safeParse(schema, item);
    return result.success ? [result.output] : [];
  });
