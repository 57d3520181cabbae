import { isRecord } from '../core/record.ts';
import { type ChatMessage, ModelProblem } from './chat-model.ts';

type TextContent = { type: 'text'; text: string };
type FileContent = { type: 'file'; data: string; mediaType: string; filename?: string };
type CallContent = { type: 'tool-call'; toolCallId: string; toolName: string; input: unknown };
type ResultContent = {
  type: 'tool-result';
  toolCallId: string;
  toolName: string;
  output: { type: 'text' | 'error-text'; value: string };
};

/** A message in the SDK's shape. */
export type AiMessage =
  | { role: 'user'; content: (TextContent | FileContent)[] }
  | { role: 'assistant'; content: (TextContent | CallContent)[] }
  | { role: 'tool'; content: ResultContent[] };

type UserPiece = Extract<ChatMessage, { readonly role: 'user' }>['content'][number];
type FilePiece = Extract<UserPiece, { readonly kind: 'file' }>;

const DATA_URL = /^data:[^,]{0,200}?(;base64)?,/i;
const TEXT_TYPE = /^(?:text\/|application\/(?:json|xml|yaml|javascript)\b)/i;

const unsendable = () =>
  new ModelProblem(
    'api',
    'A file of the conversation cannot be sent: its address must be a data: URL in base64 or text',
  );

const textIn = (isBase64: boolean, data: string): string => {
  try {
    if (!isBase64) return decodeURIComponent(data);
    return new TextDecoder().decode(Uint8Array.from(atob(data), (char) => char.charCodeAt(0)));
  } catch {
    throw unsendable();
  }
};

/** Text is told as text, which every model can read. All else goes as it is, and is never fetched from anywhere. */
const fileContent = ({ mime, url, filename }: FilePiece): TextContent | FileContent => {
  const [start, base64] = DATA_URL.exec(url) ?? [];
  if (start === undefined) throw unsendable();
  const isBase64 = base64 !== undefined;
  const data = url.slice(start.length);
  if (TEXT_TYPE.test(mime)) {
    const text = textIn(isBase64, data);
    return { type: 'text', text: filename === undefined ? text : `${filename}:\n${text}` };
  }
  if (!isBase64) throw unsendable();
  return { type: 'file', data, mediaType: mime, ...(filename === undefined ? {} : { filename }) };
};

const toldTo = (message: ChatMessage): AiMessage => {
  switch (message.role) {
    case 'user':
      return {
        role: 'user',
        content: message.content.map((piece) =>
          piece.kind === 'text' ? { type: 'text', text: piece.text } : fileContent(piece),
        ),
      };
    case 'assistant':
      return {
        role: 'assistant',
        content: [
          // Some backends refuse a text that is empty.
          ...(message.text === '' ? [] : [{ type: 'text' as const, text: message.text }]),
          ...message.calls.map(({ id, name, input }) => ({
            type: 'tool-call' as const,
            toolCallId: id,
            toolName: name,
            // Arguments that were no object cannot be repeated: backends refuse them.
            input: isRecord(input) ? input : {},
          })),
        ],
      };
    case 'tool':
      return {
        role: 'tool',
        content: message.results.map(({ id, name, output, isError }) => ({
          type: 'tool-result',
          toolCallId: id,
          toolName: name,
          output: { type: isError ? 'error-text' : 'text', value: output },
        })),
      };
    default:
      return message satisfies never;
  }
};

/** The conversation in the SDK's shape. Messages without content are left out: backends refuse them. */
export const aiMessages = (messages: readonly ChatMessage[]): AiMessage[] =>
  messages.map(toldTo).filter(({ content }) => content.length > 0);
