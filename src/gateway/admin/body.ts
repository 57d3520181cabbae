import * as v from 'valibot';
import { Fault } from '../../core/fault.ts';
import { issueOf } from '../../core/http/body.ts';

/** A body in the form of the schema. Throws `bad-input`, which names the place and never quotes what is there. */
export const parseAdminBody = <Schema extends v.GenericSchema>(
  schema: Schema,
  body: unknown,
): v.InferOutput<Schema> => {
  const result = v.safeParse(schema, body, { abortEarly: true });
  if (result.success) return result.output;
  const { path, expected } = issueOf(result.issues[0]);
  const where = path === '' ? 'as the body' : `at ${path}`;
  throw new Fault({
    kind: 'bad-input',
    code: 'invalid_type',
    param: path === '' ? null : path,
    message: `Expected ${expected} ${where}`,
  });
};
