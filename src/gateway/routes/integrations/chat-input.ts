import { Fault } from '../../../core/fault.ts';
import { isRecord } from '../../../core/json.ts';
import type { GatewayFault } from '../../errors.ts';
import { cacheControl, foundTexts, membersAlone, silent, wordText } from '../chat-texts/members.ts';
import { type ChatMessage, createMessageJoiner, isChatMessage, messageTexts } from '../chat-texts/message-text.ts';
import type { GuardrailInput } from './guardrail.ts';

/** A part of a request that is neither a text nor an image, and that no judge would see. */
export const unreadable = (param: string, expected: string): Fault<GatewayFault> =>
  new Fault<GatewayFault>({
    kind: 'unjudged-input',
    code: 'invalid_type',
    param,
    message: `Expected ${expected} at ${param}`,
  });

const ofImage = wordText((word) => /^(?:auto|low|high|original|image\/[\w.+-]{1,32})$/.test(word));
const readImage = membersAlone({ url: silent('string'), detail: ofImage, format: ofImage, mime_type: ofImage });
/** What an image part may hold. With anything else beside the image it cannot be read. */
const readImagePart = membersAlone({
  type: silent('string'),
  image_url: (image, found) => typeof image === 'string' || readImage(image, found),
  cache_control: cacheControl,
});

/** The address of an image part, in either of the forms that products send; undefined for every other part. */
const imageAddress = (part: unknown): string | undefined => {
  const found = foundTexts();
  if (!isRecord(part) || part.type !== 'image_url' || !readImagePart(part, found) || found.written.length > 0)
    return undefined;
  const { image_url: image } = part;
  const url = isRecord(image) ? image.url : image;
  return typeof url === 'string' && url !== '' ? url : undefined;
};

const readMessage = (message: ChatMessage, joined: string, param: string): GuardrailInput => {
  const { content } = message;
  const parts: readonly unknown[] = Array.isArray(content) ? content : [];
  const images = parts.flatMap((part) => imageAddress(part) ?? []);
  const rest = images.length === 0 ? content : parts.filter((part) => imageAddress(part) === undefined);
  const read = messageTexts({ ...message, content: rest }, joined);
  if ('found' in read) return { texts: [read.found], images };
  const { unreadable: member } = read;
  throw unreadable(member === '' ? param : `${param}.${member}`, 'nothing but texts, images and calls of tools');
};

/** All texts and images of the messages of a chat. Throws `unjudged-input` where a message holds anything else. */
export const readChatMessages = (messages: unknown, param: string): GuardrailInput => {
  if (!Array.isArray(messages)) throw unreadable(param, 'a list of messages');
  const join = createMessageJoiner();
  const read = messages.map((message: unknown, index) => {
    const at = `${param}[${index}]`;
    if (!isChatMessage(message)) throw unreadable(at, 'a message with a role');
    return readMessage(message, join(message), at);
  });
  return { texts: read.flatMap(({ texts }) => texts), images: read.flatMap(({ images }) => images) };
};
