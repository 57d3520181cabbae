import * as v from 'valibot';
import { Fault } from '../../core/fault.ts';
import { issueOf } from '../../core/http/body.ts';
import { isRecord } from '../../core/json.ts';
import type { ChatImage } from '../../llm/types.ts';
import type { GatewayFault } from '../errors.ts';
import type { FindUnseen } from '../judge/chain/fitness.ts';
import type { ModerationItem } from '../judge/types.ts';
import { type ModelAlias, takesImages } from '../models.ts';
import type { GatewaySettings } from '../settings/variables.ts';
import { isBlank } from '../text/normalize.ts';
import { isAnimated } from './animated-image.ts';
import { joinedText } from './chat-texts/joined-text.ts';

const TextPart = v.object({ type: v.literal('text'), text: v.string() });
const ImagePart = v.object({ type: v.literal('image_url'), image_url: v.object({ url: v.string() }) });
const PART_TYPES: readonly string[] = ['text', 'image_url'];
const Part = v.variant('type', [TextPart, ImagePart]);
const Parts = v.array(Part);
const Texts = v.array(v.string());

/** The body of `POST /v1/moderations`. Unknown fields are ignored, as OpenAI's API does. */
export const ModerationRequest = v.object({
  model: v.nullish(v.string()),
  input: v.union([v.string(), Texts, Parts]),
});
const Envelope = v.object({ model: v.nullish(v.string()), input: v.nullish(v.unknown()) });

/** How many inputs a request may hold, and how many characters each. */
type InputLimits = { readonly inputs: number; readonly chars: number };

/** How an input is read. */
export type InputRules = {
  readonly limits: InputLimits;
  /** Why the alias judges no images; undefined where it does. */
  readonly unseen: string | undefined;
  /** `text`: what the alias cannot judge is left out, as long as something is left that it can. */
  readonly unjudged: GatewaySettings['UNJUDGED_INPUT'];
};

/** One input, and what was left out of it. */
export type ParsedItem = ModerationItem & { readonly unjudged: readonly UnjudgedType[] };

/** What may be left out of an input: images, and parts of a type that is neither text nor image. */
type UnjudgedType = 'image' | 'part';

const badInput = (code: string, param: string | null, message: string): Fault =>
  new Fault({ kind: 'bad-input', code, param, message });

/** Where a value is not as the schema wants it, and what is expected there; never the value. */
const misfit = (issue: v.BaseIssue<unknown>, at: string): { readonly param: string; readonly message: string } => {
  const { path, expected } = issueOf(issue);
  const param = [at, path].filter((part) => part !== '').join(path.startsWith('[') ? '' : '.');
  return { param, message: `Expected ${expected} at ${param}` };
};

const unjudgedInput = (code: string, param: string, message: string): Fault<GatewayFault> =>
  new Fault<GatewayFault>({ kind: 'unjudged-input', code, param, message });

/**
 * What stands in `input`, in the form of the schema. Throws an `unjudged-input` fault otherwise: it may be a text or an image in
 * a form that other services take.
 */
const parseInput = <Schema extends v.GenericSchema>(schema: Schema, value: unknown, at: string) => {
  const result = v.safeParse(schema, value, { abortEarly: true });
  if (result.success) return result.output;
  const { param, message } = misfit(result.issues[0], at);
  throw unjudgedInput('invalid_type', param, message);
};

const requireLength = (text: string, param: string, { chars }: InputLimits): void => {
  if (text.length > chars)
    throw badInput(
      'input_too_long',
      param,
      `Expected at most ${chars} characters at ${param}, as MAX_INPUT_CHARS allows`,
    );
};

const createTextItem = (text: string, param: string, limits: InputLimits): ParsedItem => {
  requireLength(text, param, limits);
  if (isBlank(text)) throw badInput('empty_input', param, `Expected visible text at ${param}`);
  return { text, unjudged: [] };
};

const DATA_URL = /^data:(image\/(?:png|jpeg|webp|gif));base64,([A-Za-z0-9+/]+={0,2})$/;

const parseImage = ({ url }: ImageAt): ChatImage | undefined => {
  const [, mediaType, base64] = DATA_URL.exec(url) ?? [];
  return mediaType === undefined || base64 === undefined || base64.length % 4 !== 0 ? undefined : { mediaType, base64 };
};

/** An image that can be judged: of an animated one a model sees the first frame, and its readers see all. */
const parseStillImage = (image: ImageAt): ChatImage | undefined => {
  const parsed = parseImage(image);
  return parsed === undefined || isAnimated(parsed.base64) ? undefined : parsed;
};

type ImageAt = { readonly url: string; readonly index: number };
type Unjudged = { readonly type: UnjudgedType; readonly fault: Fault<GatewayFault> };

const unjudged = (type: UnjudgedType, code: string, param: string, message: string): Unjudged => ({
  type,
  fault: unjudgedInput(code, param, message),
});

/** Why not all of these images are judged: at least one is not. */
const unjudgedImage = (images: readonly ImageAt[], unseen: string | undefined): Unjudged => {
  const at = `input[${images[0]?.index ?? 0}]`;
  if (unseen !== undefined) return unjudged('image', 'image_unsupported', at, unseen);
  if (images.length > 1) return unjudged('image', 'too_many_images', 'input', 'Expected at most one image');
  const param = `${at}.image_url.url`;
  const message = images.every((image) => parseImage(image) === undefined)
    ? `Expected a data URL with a base64 PNG, JPEG, WebP or GIF at ${param}; images are not fetched`
    : `Expected a still image at ${param}: of an animated one only the first frame would be judged; send its frames one by one`;
  return unjudged('image', 'image_url_unsupported', param, message);
};

const isOfOtherType = (value: unknown): boolean =>
  isRecord(value) && typeof value.type === 'string' && !PART_TYPES.includes(value.type);

const parseParts = (values: readonly unknown[], { limits, unseen, ...rules }: InputRules): ParsedItem => {
  if (values.length > limits.inputs)
    throw badInput('too_many_inputs', 'input', `Expected at most ${limits.inputs} parts, as MAX_INPUTS allows`);
  const texts: string[] = [];
  const images: ImageAt[] = [];
  const leftOut: Unjudged[] = [];
  for (const [index, value] of values.entries()) {
    const at = `input[${index}]`;
    if (isOfOtherType(value)) {
      const message = `Expected text or image_url at ${at}.type`;
      leftOut.push(unjudged('part', 'invalid_type', `${at}.type`, message));
      continue;
    }
    const part = parseInput(Part, value, at);
    if (part.type === 'text') texts.push(part.text);
    else images.push({ url: part.image_url.url, index });
  }
  const [image] = unseen === undefined ? images.flatMap((one) => parseStillImage(one) ?? []) : [];
  if (images.length > (image === undefined ? 0 : 1)) leftOut.push(unjudgedImage(images, unseen));
  const written = texts.join('\n');
  const joined = joinedText(texts);
  const text = joined === '' ? written : `${written}\n${joined}`;
  const [first] = leftOut;
  const isSomethingLeft = image !== undefined || !isBlank(text);
  if (first !== undefined && !(rules.unjudged === 'text' && isSomethingLeft)) throw first.fault;
  const types = [...new Set(leftOut.map(({ type }) => type))];
  if (image === undefined) return { ...createTextItem(written, 'input', limits), text, unjudged: types };
  requireLength(written, 'input', limits);
  // Not checked for blankness: a message may hide in invisible characters.
  return { text, image, unjudged: types };
};

const isPart = (value: unknown): boolean => typeof value === 'object' && value !== null;

/** How many results an input gets, before it is checked: one for each of an array of texts. */
export const countResults = (input: unknown): number => (Array.isArray(input) && !isPart(input[0]) ? input.length : 1);

/**
 * Parses `input` by the rules. Throws `unjudged-input` for what cannot be judged, parts in a form that is none of ours included,
 * and `bad-input` for the rest; both name the parameter and never quote it.
 */
export const parseModerationItems = (input: unknown, rules: InputRules): readonly ParsedItem[] => {
  const { limits } = rules;
  if (typeof input === 'string') return [createTextItem(input, 'input', limits)];
  if (!Array.isArray(input))
    throw unjudgedInput(
      'invalid_type',
      'input',
      'Expected a string, an array of strings or an array of parts at input',
    );
  if (input.length === 0) throw badInput('empty_input', 'input', 'Expected at least one input');
  if (isPart(input[0])) return [parseParts(input, rules)];
  if (input.length > limits.inputs)
    throw badInput(
      'too_many_inputs',
      'input',
      `Expected at most ${limits.inputs} inputs, as MAX_INPUTS allows; send the others in further requests`,
    );
  return parseInput(Texts, input, 'input').map((text, index) => createTextItem(text, `input[${index}]`, limits));
};

const NO_VISION = 'This model judges no images: use an alias with "vision": true, or send only texts';

/** Reads the `input` of a moderation for an alias. Throws as `parseModerationItems` does, and `backend-error`. */
export type ReadInput = (input: unknown, alias: ModelAlias, signal: AbortSignal) => Promise<readonly ParsedItem[]>;

type InputReaderNeeds = {
  readonly findUnseen: FindUnseen;
  readonly rules: Pick<InputRules, 'limits' | 'unjudged'>;
};

/** Creates the reader of inputs. It asks the server what a model sees only where there is an image. */
export const createInputReader =
  ({ findUnseen, rules }: InputReaderNeeds): ReadInput =>
  async (input, alias, signal) => {
    const items = parseModerationItems(input, { ...rules, unseen: takesImages(alias) ? undefined : NO_VISION });
    if (items.every(({ image }) => image === undefined)) return items;
    const reason = await findUnseen(alias, signal);
    if (reason === undefined) return items;
    return parseModerationItems(input, { ...rules, unseen: `This model judges no images: ${reason}` });
  };

/** The schema is asked only where something is wrong, and says what. */
const envelopeOf = (body: unknown): v.InferOutput<typeof Envelope> => {
  if (isRecord(body)) {
    const { model, input } = body;
    if (model === undefined || typeof model === 'string') return { model, input };
  }
  const result = v.safeParse(Envelope, Array.isArray(body) ? undefined : body, { abortEarly: true });
  if (result.success) return result.output;
  const { param, message } = misfit(result.issues[0], '');
  if (param === '') throw badInput('invalid_type', null, 'Expected a JSON object as the body');
  throw badInput('invalid_type', param, message);
};

/** Parses the body's outer fields. The model comes first, because it decides which inputs are allowed. */
export const parseOuterFields = (body: unknown): { readonly model: string | undefined; readonly input: unknown } => {
  const { model, input } = envelopeOf(body);
  if (input === undefined || input === null)
    throw badInput('missing_input', 'input', 'Expected input: a string, an array of strings or an array of parts');
  return { model: model ?? undefined, input };
};
