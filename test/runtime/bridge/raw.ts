import { type IncomingMessage, request } from 'node:http';
import * as assert from 'uvu/assert';
import { newText } from './clients.ts';
import { BRIDGE_KEY, type BridgeProcess } from './world.ts';

type Raw = {
  readonly response: IncomingMessage;
  readonly bytes: () => Buffer;
  readonly ended: Promise<Buffer>;
  readonly leave: () => void;
};

/** A request as it stands, and its answer as it came over the wire. */
export const ask = ({ address }: BridgeProcess, path: string, body: object): Promise<Raw> =>
  new Promise((settle, reject) => {
    const call = request(`${address}${path}`, {
      method: 'POST',
      agent: false,
      headers: { authorization: `Bearer ${BRIDGE_KEY}`, 'content-type': 'application/json' },
    });
    call.on('error', reject).on('response', (response) => {
      const pieces: Buffer[] = [];
      const bytes = () => Buffer.concat(pieces);
      const ended = new Promise<Buffer>((end) => response.on('close', () => end(bytes())));
      response.on('error', () => {}).on('data', (piece: Buffer) => pieces.push(piece));
      settle({ response, bytes, ended, leave: () => call.destroy() });
    });
    call.end(JSON.stringify(body));
  });

/** The body of a chat's first request, in words that nobody has said before. */
export const chatOf = (more: object = {}) => ({
  model: 'demo/main',
  messages: [{ role: 'user', content: newText() }],
  ...more,
});
/** A streamed chat completion. */
export const askChat = (bridge: BridgeProcess, more: object = {}) =>
  ask(bridge, '/v1/chat/completions', chatOf({ stream: true, ...more }));
/** A streamed response. */
export const askResponses = (bridge: BridgeProcess, more: object = {}) =>
  ask(bridge, '/v1/responses', { model: 'demo/main', input: newText(), stream: true, ...more });

type Reported = { readonly event: string | undefined; readonly data: string };

/**
 * Reads a stream as the strictest clients do: with line feeds alone, one line of data an event, no line that is neither event,
 * data nor comment, and nothing after the last blank line. An id would make a comment an empty event to some.
 */
export const strictly = (
  bytes: Buffer,
): { readonly reported: readonly Reported[]; readonly comments: readonly string[] } => {
  const words = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  assert.not.match(words, '\r');
  assert.ok(words.endsWith('\n\n'), 'the last event is not ended');
  const comments: string[] = [];
  const reported = words
    .slice(0, -2)
    .split('\n\n')
    .flatMap((block): Reported[] => {
      const lines = block.split('\n');
      if (lines.length === 1 && block.startsWith(':')) {
        comments.push(block);
        return [];
      }
      const [first = '', second] = lines;
      const event = /^event: (\S+)$/.exec(first)?.[1];
      const data = event === undefined ? first : (second ?? '');
      assert.is(lines.length, event === undefined ? 1 : 2, block);
      assert.match(data, /^data: \S/);
      return [{ event, data: data.slice('data: '.length) }];
    });
  return { reported, comments };
};

type Choice = {
  readonly index: number;
  readonly delta: Readonly<Record<string, unknown>>;
  readonly finish_reason: string | null;
  readonly logprobs: null;
};
type Chunk = {
  readonly id: string;
  readonly object: string;
  readonly created: number;
  readonly model: string;
  readonly choices: readonly Choice[];
  readonly usage?: { readonly total_tokens: number } | null;
};

/** All but the last word of a stream. */
export const chunksIn = (reported: readonly Reported[]): readonly Chunk[] =>
  reported.filter(({ data }) => data !== '[DONE]').map(({ data }) => JSON.parse(data) as Chunk);
/** What a stream says to whoever reads it. */
export const matchesIn = (chunks: readonly Chunk[]): string =>
  chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('');

type ResponseEvent = { readonly type: string; readonly sequence_number: number; readonly output_index?: number };

/** The events of a response, which say what they are twice. */
export const eventsIn = (reported: readonly Reported[]): readonly ResponseEvent[] =>
  reported.map(({ event, data }) => {
    const one = JSON.parse(data) as ResponseEvent;
    assert.is(one.type, event);
    return one;
  });
