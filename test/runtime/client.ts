import { request } from 'node:http';
import { connect } from 'node:net';

export const KEY = 'canary-gateway-key-1';

export type Answer = {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
};

export type Question = {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  readonly signal?: AbortSignal;
};

/** One request and its whole answer. */
export const fetchText = async (
  url: string,
  { method = 'GET', headers = {}, body, signal }: Question = {},
): Promise<Answer> => {
  const response = await fetch(url, {
    method,
    headers,
    ...(body === undefined ? {} : { body }),
    ...(signal === undefined ? {} : { signal }),
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
};

/** Asks for a moderation with the gateway key. */
export const moderate = (
  address: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
  signal?: AbortSignal,
  query = '',
): Promise<Answer> =>
  fetchText(`${address}/v1/moderations${query}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    ...(signal === undefined ? {} : { signal }),
  });

type Result = {
  readonly flagged: boolean;
  readonly categories: Readonly<Record<string, boolean>>;
  readonly category_scores: Readonly<Record<string, number>>;
  readonly scores: Readonly<Record<string, number>>;
};
export type Moderation = { readonly id: string; readonly model: string; readonly results: readonly Result[] };
type Refusal = {
  readonly message: string;
  readonly type: string;
  readonly param: string | null;
  readonly code: string;
};

export const moderationOf = ({ text }: Answer): Moderation => JSON.parse(text) as Moderation;
export const refusalOf = ({ text }: Answer): Refusal => (JSON.parse(text) as { error: Refusal }).error;

type Sending = {
  /** Tells the length first, or sends in chunks of unknown number. */
  readonly framing: 'declared' | 'chunked';
  readonly pieces: number;
  readonly pieceBytes: number;
  readonly pauseMs?: number;
  readonly key?: string;
  readonly connection?: 'close' | 'keep-alive';
};

/** Sends a body piece by piece; the status that came back, or the code of what became of the connection. */
export const sendPieces = (
  address: string,
  { framing, pieces, pieceBytes, pauseMs = 0, key = KEY, connection = 'keep-alive' }: Sending,
): Promise<number | string> =>
  new Promise((settle) => {
    const call = request(`${address}/v1/moderations`, {
      method: 'POST',
      agent: false,
      headers: {
        authorization: `Bearer ${key}`,
        connection,
        'content-type': 'application/json',
        ...(framing === 'declared' ? { 'content-length': String(pieces * pieceBytes) } : {}),
      },
    });
    call.on('response', (response) => {
      response.resume().on('end', () => {
        settle(response.statusCode ?? 0);
        call.destroy();
      });
    });
    call.on('error', (error: NodeJS.ErrnoException) => settle(error.code ?? error.message));
    const piece = Buffer.alloc(pieceBytes, 'a');
    let left = pieces;
    const sendNext = () => {
      if (call.destroyed) return;
      if (left === 0) return void call.end();
      left -= 1;
      call.write(piece, () => (pauseMs === 0 ? setImmediate(sendNext) : setTimeout(sendNext, pauseMs)));
    };
    sendNext();
  });

/** What a request with a Host header that is none is answered with, as it came over the wire. */
export const oddHostAnswer = (address: string): Promise<string> =>
  new Promise((settle) => {
    let text = '';
    const socket = connect(Number(new URL(address).port), '127.0.0.1', () =>
      socket.write('GET /health HTTP/1.1\r\nHost: [\r\nConnection: close\r\n\r\n'),
    );
    socket.setEncoding('utf8').on('data', (piece) => {
      text += piece;
    });
    socket.on('error', () => {});
    socket.on('close', () => settle(text));
  });
