import { Fault } from '../../../core/fault.ts';
import { isRecord } from '../../../core/json.ts';
import type { GatewayFault } from '../../errors.ts';
import { type ChatMessage, isChatMessage, isNothing, messageTexts } from '../../guard/message-text.ts';
import type { GuardrailInput } from './guardrail.ts';

/** A part of a request that is neither a text nor an image, and that no judge would see. */
export const unreadable = (param: string, expected: string): Fault<GatewayFault> =>
  new Fault<GatewayFault>({
    kind: 'unjudged-input',
    code: 'invalid_type',
    param,
    message: `Expected ${expected} at ${param}`,
  });

/** What an image part may hold. With anything else beside the image it cannot be read. */
const IMAGE_MEMBERS: readonly string[] = ['type', 'image_url', 'cache_control'];

/** The address of an image part, in either of the forms that products send; undefined for every other part. */
const imageAddress = (part: unknown): string | undefined => {
  if (!isRecord(part) || part.type !== 'image_url') return undefined;
  const { image_url: image } = part;
  if (Object.keys(part).some((name) => !IMAGE_MEMBERS.includes(name) && !isNothing(part[name]))) return undefined;
  const url = isRecord(image) ? image.url : image;
  return typeof url === 'string' && url !== '' ? url : undefined;
};

const readMessage = (message: ChatMessage, param: string): GuardrailInput => {
  const { content } = message;
  const parts: readonly unknown[] = Array.isArray(content) ? content : [];
  const images = parts.flatMap((part) => imageAddress(part) ?? []);
  const rest = images.length === 0 ? content : parts.filter((part) => imageAddress(part) === undefined);
  const read = messageTexts({ ...message, content: rest });
  if ('texts' in read) return { texts: read.texts, images };
  const { unreadable: member } = read;
  throw unreadable(member === '' ? param : `${param}.${member}`, 'nothing but texts, images and calls of tools');
};

/** All texts and images of the messages of a chat. Throws `unjudged-input` where a message holds anything else. */
export const readChatMessages = (messages: unknown, param: string): GuardrailInput => {
  if (!Array.isArray(messages)) throw unreadable(param, 'a list of messages');
  const read = messages.map((message: unknown, index) => {
    const at = `${param}[${index}]`;
    if (!isChatMessage(message)) throw unreadable(at, 'a message with a role');
    return readMessage(message, at);
  });
  return { texts: read.flatMap(({ texts }) => texts), images: read.flatMap(({ images }) => images) };
};
