import * as v from 'valibot';
import { Fault } from '../../core/fault.ts';
import { matchingKeyIndex } from '../../core/http/auth.ts';
import { issueOf } from '../../core/http/body.ts';
import type { ChatImage } from '../../llm/types.ts';
import type { ModerationItem } from '../judge/moderate.ts';
import { isBlank } from '../text/normalize.ts';

const TextPart = v.object({ type: v.literal('text'), text: v.string() });
const ImagePart = v.object({ type: v.literal('image_url'), image_url: v.object({ url: v.string() }) });
const Parts = v.array(v.variant('type', [TextPart, ImagePart]));
const Texts = v.array(v.string());

/** Throws `unauthorized` unless the request presents a gateway key. Returns the key's index in the list. */
export const requireGatewayKey = (request: Request, gatewayKeys: readonly string[]): number => {
  const index = matchingKeyIndex(request, gatewayKeys);
  if (index === -1) throw new Fault({ kind: 'unauthorized' });
  return index;
};

/** The body of `POST /v1/moderations`. Unknown fields are ignored, as OpenAI's API does. */
export const ModerationRequest = v.object({
  model: v.nullish(v.string()),
  input: v.union([v.string(), Texts, Parts]),
});
const Envelope = v.object({ model: v.nullish(v.string()), input: v.nullish(v.unknown()) });

/** How many inputs a request may hold, and how many characters each. */
export type InputLimits = { readonly inputs: number; readonly chars: number };

const badInput = (code: string, param: string | null, message: string): Fault =>
  new Fault({ kind: 'bad-input', code, param, message });

/** A schema's value. Throws an `invalid_type` fault that names the place and what is expected, never the value. */
const parse = <Schema extends v.GenericSchema>(schema: Schema, value: unknown, at: string): v.InferOutput<Schema> => {
  const result = v.safeParse(schema, value, { abortEarly: true });
  if (result.success) return result.output;
  const { path, expected } = issueOf(result.issues[0]);
  const param = [at, path].filter((part) => part !== '').join(path.startsWith('[') ? '' : '.');
  throw badInput(
    'invalid_type',
    param === '' ? null : param,
    param === '' ? 'Expected a JSON object as the body' : `Expected ${expected} at ${param}`,
  );
};

const createBoundedItem = (text: string, param: string, { chars }: InputLimits): ModerationItem => {
  if (text.length > chars) throw badInput('input_too_long', param, `Expected at most ${chars} characters at ${param}`);
  return { text };
};

const createTextItem = (text: string, param: string, limits: InputLimits): ModerationItem => {
  const item = createBoundedItem(text, param, limits);
  if (isBlank(text)) throw badInput('empty_input', param, `Expected visible text at ${param}`);
  return item;
};

const DATA_URL = /^data:(image\/(?:png|jpeg|webp|gif));base64,([A-Za-z0-9+/]+={0,2})$/;

const parseImage = (url: string, param: string): ChatImage => {
  const [, mediaType, base64] = DATA_URL.exec(url) ?? [];
  if (mediaType !== undefined && base64 !== undefined && base64.length % 4 === 0) return { mediaType, base64 };
  const message = `Expected a data URL with a base64 PNG, JPEG, WebP or GIF at ${param}; images are not fetched`;
  throw badInput('image_url_unsupported', param, message);
};

const parseParts = (value: readonly unknown[], hasVision: boolean, limits: InputLimits): ModerationItem => {
  if (value.length > limits.inputs)
    throw badInput('too_many_inputs', 'input', `Expected at most ${limits.inputs} parts`);
  const parts = parse(Parts, value, 'input');
  const texts = parts.flatMap((part) => (part.type === 'text' ? [part.text] : []));
  const images = parts.flatMap((part, index) =>
    part.type === 'image_url' ? [{ url: part.image_url.url, index }] : [],
  );
  const [image] = images;
  const text = texts.join('\n');
  if (image === undefined) return createTextItem(text, 'input', limits);
  if (!hasVision)
    throw badInput(
      'image_unsupported',
      `input[${image.index}]`,
      'This model judges no images: use an alias with "vision": true, or send only texts',
    );
  if (images.length > 1) throw badInput('too_many_images', 'input', 'Expected at most one image');
  // Not checked for blankness: a message may hide in invisible characters.
  return {
    ...createBoundedItem(text, 'input', limits),
    image: parseImage(image.url, `input[${image.index}].image_url.url`),
  };
};

const isPart = (value: unknown): boolean => typeof value === 'object' && value !== null;

/** Parses `input` within the limits. Throws `bad-input` faults that name the parameter and never quote it. */
export const parseModerationItems = (
  input: unknown,
  hasVision: boolean,
  limits: InputLimits,
): readonly ModerationItem[] => {
  if (typeof input === 'string') return [createTextItem(input, 'input', limits)];
  if (!Array.isArray(input))
    throw badInput('invalid_type', 'input', 'Expected a string, an array of strings or an array of parts at input');
  if (input.length === 0) throw badInput('empty_input', 'input', 'Expected at least one input');
  if (isPart(input[0])) return [parseParts(input, hasVision, limits)];
  if (input.length > limits.inputs)
    throw badInput('too_many_inputs', 'input', `Expected at most ${limits.inputs} inputs`);
  return parse(Texts, input, 'input').map((text, index) => createTextItem(text, `input[${index}]`, limits));
};

/** Parses the body's outer fields. The model comes first, because it decides which inputs are allowed. */
export const parseOuterFields = (body: unknown): { readonly model: string | undefined; readonly input: unknown } => {
  const { model, input } = parse(Envelope, Array.isArray(body) ? undefined : body, '');
  if (input === undefined || input === null)
    throw badInput('missing_input', 'input', 'Expected input: a string, an array of strings or an array of parts');
  return { model: model ?? undefined, input };
};
