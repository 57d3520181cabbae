import { isRecord } from '../../core/record.ts';
import { toldFile } from '../file-words.ts';
import type { ChatMessage } from './types.ts';

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

const fileContent = (piece: FilePiece): TextContent | FileContent => {
  const told = toldFile(piece);
  if (told.kind === 'text') return { type: 'text', text: told.text };
  const { data, mediaType } = told;
  return { type: 'file', data, mediaType, ...(piece.filename === undefined ? {} : { filename: piece.filename }) };
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
