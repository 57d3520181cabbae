import type { ChatMessage } from './model/types.ts';

const cut = (text: string, limitChars: number): string =>
  text.length <= limitChars ? text : `${text.slice(0, limitChars).toWellFormed()}…`;

/** The same conversation with no text in it that is longer than so many characters, and with the names of files for files. */
export const shortened = (messages: readonly ChatMessage[], limitChars: number): readonly ChatMessage[] =>
  messages.map((message): ChatMessage => {
    switch (message.role) {
      case 'user':
        return {
          ...message,
          content: message.content.map((piece) => {
            const text = piece.kind === 'text' ? piece.text : `(a file: ${piece.filename ?? piece.mime})`;
            return { kind: 'text', text: cut(text, limitChars) };
          }),
        };
      case 'assistant':
        return {
          ...message,
          text: cut(message.text, limitChars),
          calls: message.calls.map((call) => {
            const given = JSON.stringify(call.input) ?? '';
            return given.length <= limitChars ? call : { ...call, input: { beginning: cut(given, limitChars) } };
          }),
        };
      case 'tool':
        return {
          ...message,
          results: message.results.map((result) => ({ ...result, output: cut(result.output, limitChars) })),
        };
      default:
        return message satisfies never;
    }
  });
