import { isRecord } from '../../../core/json.ts';
import { joinedText } from './joined-text.ts';
import {
  anyText,
  cacheControl,
  eachItem,
  idText,
  isNothing,
  type Members,
  membersAlone,
  plainText,
  type Read,
  signedText,
  silent,
} from './members.ts';

/** Reads who has made a call, as Anthropic's API tells it: by a type, and the id of a tool. */
export const caller = membersAlone({ type: idText, tool_id: idText });

const SHARED: Members = { type: silent('string'), cache_control: cacheControl };
const readTextPart = membersAlone({ ...SHARED, text: plainText, citations: anyText, annotations: anyText });

type PartTypes = ReadonlyMap<unknown, Read>;
/** The types of parts that are a text; without a type a part is one as well. */
const TEXT_PARTS: PartTypes = new Map(['', 'text', 'input_text', 'output_text'].map((type) => [type, readTextPart]));

const typeOf = ({ type }: Readonly<Record<string, unknown>>): unknown => (isNothing(type) ? '' : type);

/** The text of a content, or those of its text parts, which some servers put one behind the other. */
export const plainTextsOf = (content: unknown): readonly string[] => {
  const parts: readonly unknown[] = Array.isArray(content) ? content : [{ text: content }];
  return parts
    .map((part) => (isRecord(part) && TEXT_PARTS.has(typeOf(part)) ? part.text : undefined))
    .filter((text) => typeof text === 'string');
};

const partsOf = (types: PartTypes): Read => {
  const readParts = eachItem((part, found) => isRecord(part) && types.get(typeOf(part))?.(part, found) === true);
  return (content, found) => {
    if (typeof content === 'string') return plainText(content, found);
    if (!readParts(content, found)) return false;
    const joined = joinedText(plainTextsOf(content));
    if (joined !== '') found.joined.push(joined);
    return true;
  };
};

/** All types of parts that hold texts, with Anthropic's blocks. */
const PARTS: PartTypes = new Map([
  ...TEXT_PARTS,
  ['refusal', membersAlone({ ...SHARED, refusal: plainText })],
  ['tool_use', membersAlone({ ...SHARED, id: idText, caller, name: plainText, input: anyText })],
  // A result of a tool holds no further blocks.
  [
    'tool_result',
    membersAlone({ ...SHARED, tool_use_id: idText, is_error: silent('boolean'), content: partsOf(TEXT_PARTS) }),
  ],
  ['thinking', membersAlone({ ...SHARED, thinking: plainText, signature: signedText })],
  ['redacted_thinking', membersAlone({ ...SHARED, data: signedText })],
]);

/**
 * Reads a message's content: its texts, none where it holds none. A part has exactly the members of its type: some servers read a
 * text in parts of any type.
 */
export const contentTexts = partsOf(PARTS);
