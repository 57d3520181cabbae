import * as v from 'valibot';

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
