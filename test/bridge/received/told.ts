import type { ModelRequest } from '../../../src/agent/model/types.ts';

// What clients send and what a model receives, in one form that can be compared. Nothing here knows how the bridge or the agent do it.

type Piece = { readonly text: string } | { readonly mime: string; readonly url: string };
type Call = { readonly id: string; readonly name: string; readonly input: unknown };
type Result = { readonly id: string; readonly name: string; readonly output: string; readonly isError: boolean };
export type Told =
  | { readonly role: 'user'; readonly pieces: readonly Piece[] }
  | { readonly role: 'assistant'; readonly text: string; readonly calls: readonly Call[] }
  | { readonly role: 'tool'; readonly results: readonly Result[] };

/** A message of a chat or an item of a response, as a client writes it. */
export type Item = { readonly role?: string; readonly type?: string; readonly content?: unknown } & Readonly<
  Record<string, unknown>
>;

type Part = {
  readonly text?: string;
  readonly refusal?: string;
  readonly image_url?: string | { readonly url: string };
  readonly file?: { readonly file_data: string };
};

const pieceOf = ({ text, refusal, image_url, file }: Part): Piece => {
  const url = typeof image_url === 'object' ? image_url.url : (image_url ?? file?.file_data);
  if (url === undefined) return { text: text ?? refusal ?? '' };
  return { mime: url.slice('data:'.length, url.indexOf(';')), url };
};

/** The parts of a content. Texts that follow each other are one, with a blank line between them. */
const piecesOf = (content: unknown): readonly Piece[] => {
  const parts = typeof content === 'string' ? [{ text: content }] : ((content ?? []) as readonly Part[]);
  const pieces: Piece[] = [];
  for (const piece of parts.map(pieceOf)) {
    const last = pieces.at(-1);
    if ('text' in piece && piece.text === '') continue;
    if ('text' in piece && last !== undefined && 'text' in last)
      pieces[pieces.length - 1] = { text: `${last.text}\n\n${piece.text}` };
    else pieces.push(piece);
  }
  return pieces;
};
const textOf = (content: unknown): string =>
  piecesOf(content)
    .flatMap((piece) => ('text' in piece ? [piece.text] : []))
    .join('\n\n');

type ChatCall = {
  readonly id: string;
  readonly function?: { readonly name: string; readonly arguments: string };
  readonly custom?: { readonly name: string; readonly input: string };
};
const callsOf = (item: Item): readonly Call[] => {
  if (item.type === 'function_call')
    return [{ id: String(item.call_id), name: String(item.name), input: JSON.parse(String(item.arguments)) }];
  return ((item.tool_calls ?? []) as readonly ChatCall[]).map(({ id, function: called, custom }) =>
    called === undefined
      ? { id, name: custom?.name ?? '', input: { input: custom?.input } }
      : { id, name: called.name, input: JSON.parse(called.arguments) },
  );
};

const isInstruction = ({ role }: Item): boolean => role === 'system' || role === 'developer';

/** The instructions among the messages of a client, one after the other. */
export const instructionsIn = (sent: readonly Item[]): readonly string[] =>
  sent.filter(isInstruction).map(({ content }) => textOf(content));

/**
 * What a model has to be told of a client's messages: all of them, in their order. Without reasoning and without empty answers, which
 * say nothing. Texts and calls of the assistant that follow each other are one answer, as the items of a response are. The results of
 * an answer come together, in the order of its calls.
 */
export const toldOf = (sent: readonly Item[]): readonly Told[] => {
  const told: Told[] = [];
  for (const item of sent) {
    if (isInstruction(item) || item.type === 'reasoning') continue;
    const last = told.at(-1);
    if (item.type === 'mcp_call') {
      const [call, id] = [{ ...item, type: 'function_call', call_id: item.id }, String(item.id)];
      told.push(...toldOf([call, { call_id: id, output: item.output }]));
      continue;
    }
    if (item.role === 'user') told.push({ role: 'user', pieces: piecesOf(item.content) });
    else if (item.role === 'assistant' || item.type === 'function_call') {
      const [text, calls] = [textOf(item.content), callsOf(item)];
      if (text === '' && calls.length === 0) continue;
      if (last?.role !== 'assistant') told.push({ role: 'assistant', text, calls });
      else {
        const texts = [last.text, text].filter((one) => one !== '');
        told[told.length - 1] = { role: 'assistant', text: texts.join('\n\n'), calls: [...last.calls, ...calls] };
      }
    } else {
      const id = String(item.tool_call_id ?? item.call_id);
      const calls = told.flatMap((one) => (one.role === 'assistant' ? one.calls : []));
      const name = calls.findLast((call) => call.id === id)?.name ?? '';
      const result = { id, name, output: textOf(item.content ?? item.output), isError: false };
      if (last?.role !== 'tool') told.push({ role: 'tool', results: [result] });
      else {
        const place = ({ id: one }: Result) => calls.findLastIndex((call) => call.id === one);
        const results = [...last.results, result].sort((one, other) => place(one) - place(other));
        told[told.length - 1] = { role: 'tool', results };
      }
    }
  }
  return told;
};

/** What a model was told. */
export const receivedIn = ({ messages }: ModelRequest): readonly Told[] =>
  messages.map((message): Told => {
    if (message.role !== 'user') return message;
    const pieces = message.content.map((piece): Piece => {
      return piece.kind === 'text' ? { text: piece.text } : { mime: piece.mime, url: piece.url };
    });
    return { role: 'user', pieces };
  });
