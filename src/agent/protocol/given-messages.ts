import * as v from 'valibot';
import { FileBody } from './part-schemas.ts';
import { TITLE_CHARS } from './title.ts';
import { NAME_CHARS, TextUpTo } from './tool-schemas.ts';
import type { DeepReadonly } from './types.ts';

const PARTS_LIMIT = 100;
const CALLS_LIMIT = 128;

const { mime, url } = FileBody.entries;
const filename = v.exactOptional(TextUpTo(TITLE_CHARS));
const GivenFile = v.object({ type: v.literal('file'), mime, url, filename });
const GivenText = v.object({ type: v.literal('text'), text: v.string() });
/** A message of a user. */
export const GivenUser = v.object({
  role: v.literal('user'),
  parts: v.pipe(v.array(v.variant('type', [GivenText, GivenFile])), v.minLength(1), v.maxLength(PARTS_LIMIT)),
});
/** The result of a call that the client has carried out. */
export const GivenResult = v.object({
  role: v.literal('tool'),
  callID: TextUpTo(NAME_CHARS),
  output: v.string(),
  isError: v.exactOptional(v.boolean()),
  files: v.exactOptional(v.pipe(v.array(GivenFile), v.maxLength(PARTS_LIMIT))),
});
/** `arguments` is JSON. */
const GivenCallBody = v.object({ id: TextUpTo(NAME_CHARS), name: TextUpTo(NAME_CHARS), arguments: v.string() });
const GivenAnswer = v.object({
  role: v.literal('assistant'),
  text: v.exactOptional(v.string()),
  reasoning: v.exactOptional(v.string()),
  calls: v.exactOptional(v.pipe(v.array(GivenCallBody), v.maxLength(CALLS_LIMIT))),
});

/** A message of a history, or of the input of a turn, with its role. */
export const GivenMessage = v.variant('role', [GivenUser, GivenAnswer, GivenResult]);
export type GivenMessage = DeepReadonly<v.InferOutput<typeof GivenMessage>>;
export type GivenPart = Extract<GivenMessage, { readonly role: 'user' }>['parts'][number];
export type GivenCall = DeepReadonly<v.InferOutput<typeof GivenCallBody>>;
