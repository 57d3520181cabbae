import * as v from 'valibot';
import { Fault } from '../../core/fault.ts';
import { issueOf } from '../../core/http/body.ts';
import { isBlank } from '../text/normalize.ts';

const TextPart = v.object({ type: v.literal('text'), text: v.string() });
const ImagePart = v.object({ type: v.literal('image_url'), image_url: v.object({ url: v.string() }) });
const Parts = v.array(v.variant('type', [TextPart, ImagePart]));
const Texts = v.array(v.string());

/** The body of `POST /v1/moderations`. Unknown fields are ignored, as OpenAI's own API does. */
export const ModerationRequest = v.object({
  model: v.nullish(v.string()),
  input: v.union([v.string(), Texts, Parts]),
});
const Envelope = v.object({ model: v.nullish(v.string()), input: v.nullish(v.unknown()) });

export type Image = { readonly mediaType: string; readonly base64: string };
/** One thing to judge: it gets one result. */
export type Item = { readonly text: string; readonly image?: Image };
export type InputLimits = { readonly inputs: number; readonly chars: number };

const bad = (code: string, param: string | null, message: string): Fault =>
  new Fault({ kind: 'bad-input', code, param, message });

/** A schema's value, or an `invalid_type` fault that says where and what was expected, never what came. */
const parsed = <Schema extends v.GenericSchema>(schema: Schema, value: unknown, at: string): v.InferOutput<Schema> => {
  const result = v.safeParse(schema, value, { abortEarly: true });
  if (result.success) return result.output;
  const { path, expected } = issueOf(result.issues[0]);
  const param = [at, path].filter((part) => part !== '').join(path.startsWith('[') ? '' : '.');
  throw bad(
    'invalid_type',
    param === '' ? null : param,
    `Expected ${expected}${param === '' ? ' as the body' : ` at ${param}`}`,
  );
};

const boundedItem = (text: string, param: string, { chars }: InputLimits): Item => {
  if (text.length > chars) throw bad('input_too_long', param, `Expected at most ${chars} characters at ${param}`);
  return { text };
};

const textItem = (text: string, param: string, limits: InputLimits): Item => {
  const item = boundedItem(text, param, limits);
  if (isBlank(text)) throw bad('empty_input', param, `Expected visible text at ${param}`);
  return item;
};

const DATA_URL = /^data:(image\/(?:png|jpeg|webp|gif));base64,([A-Za-z0-9+/]+={0,2})$/;

const imageFrom = (url: string, param: string): Image => {
  const [, mediaType, base64] = DATA_URL.exec(url) ?? [];
  if (mediaType !== undefined && base64 !== undefined && base64.length % 4 === 0) return { mediaType, base64 };
  const message = `Expected a data URL with a base64 PNG, JPEG, WebP or GIF at ${param}; images are not fetched`;
  throw bad('image_url_unsupported', param, message);
};

const partsItem = (value: unknown, hasVision: boolean, limits: InputLimits): Item => {
  const parts = parsed(Parts, value, 'input');
  const texts = parts.flatMap((part) => (part.type === 'text' ? [part.text] : []));
  const images = parts.flatMap((part, index) =>
    part.type === 'image_url' ? [{ url: part.image_url.url, index }] : [],
  );
  const [image] = images;
  const text = texts.join('\n');
  if (image === undefined) return textItem(text, 'input', limits);
  if (!hasVision) throw bad('image_unsupported', `input[${image.index}]`, 'This model judges no images');
  if (images.length > 1) throw bad('too_many_images', 'input', 'Expected at most one image');
  // As it came, even if nothing of it is visible: a message may hide in what is not.
  return { ...boundedItem(text, 'input', limits), image: imageFrom(image.url, `input[${image.index}].image_url.url`) };
};

const isPart = (value: unknown): boolean => typeof value === 'object' && value !== null;

/** The things to judge, within the limits. Faults name the parameter and never quote it. */
export const readItems = (input: unknown, hasVision: boolean, limits: InputLimits): readonly Item[] => {
  if (typeof input === 'string') return [textItem(input, 'input', limits)];
  if (!Array.isArray(input))
    throw bad('invalid_type', 'input', 'Expected a string, an array of strings or an array of parts at input');
  if (input.length === 0) throw bad('empty_input', 'input', 'Expected at least one input');
  if (isPart(input[0])) return [partsItem(input, hasVision, limits)];
  if (input.length > limits.inputs) throw bad('too_many_inputs', 'input', `Expected at most ${limits.inputs} inputs`);
  return parsed(Texts, input, 'input').map((text, index) => textItem(text, `input[${index}]`, limits));
};

/** The two halves of reading a request: the model's name comes first, because what may follow depends on it. */
export const readEnvelope = (body: unknown): { readonly model: string | undefined; readonly input: unknown } => {
  const { model, input } = parsed(Envelope, Array.isArray(body) ? undefined : body, '');
  if (input === undefined || input === null)
    throw bad('missing_input', 'input', 'Expected input: a string, an array of strings or an array of parts');
  return { model: model ?? undefined, input };
};
