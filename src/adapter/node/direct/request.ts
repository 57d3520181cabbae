import type { IncomingMessage, ServerResponse } from 'node:http';
import { Request as FullRequest } from '@whatwg-node/fetch';
import { LazyBody } from './body.ts';
import { LazyHeaders } from './headers.ts';

/** Headers of a request, looked up in Node's own. */
class MessageHeaders extends LazyHeaders {
  readonly #message: IncomingMessage;
  readonly #headersOfWhole: () => Headers;

  constructor(message: IncomingMessage, headersOfWhole: () => Headers) {
    super();
    this.#message = message;
    this.#headersOfWhole = headersOfWhole;
  }
  protected override find(name: string): string | undefined {
    const { headers } = this.#message;
    const value = Object.hasOwn(headers, name) ? headers[name] : undefined;
    return Array.isArray(value) ? value.join(', ') : value;
  }
  protected override makeFull(): Headers {
    return this.#headersOfWhole();
  }
}

/**
 * A request of Node's HTTP server in the form that handlers know. What is asked of every request is read from Node's own
 * objects when it is asked for: a header, the body as a whole, a signal. The rest makes the full request of
 * `@whatwg-node/fetch`, which takes over.
 */
export class NodeRequest extends LazyBody<Request> implements Request {
  readonly headers: Headers;
  readonly method: string;
  readonly url: string;
  readonly #message: IncomingMessage;
  readonly #reply: ServerResponse;
  #signal: AbortSignal | undefined;
  #full: Request | undefined;
  #isRead = false;

  constructor(message: IncomingMessage, reply: ServerResponse) {
    super();
    this.#message = message;
    this.#reply = reply;
    this.method = message.method ?? 'GET';
    // An empty Host is allowed, and would make the path's first part the host.
    this.url = `http://${message.headers.host || 'localhost'}${message.url}`;
    this.headers = new MessageHeaders(message, () => this.#whole.headers);
  }

  /** Aborts when the connection closes before the whole response was written. */
  get signal(): AbortSignal {
    if (this.#signal !== undefined) return this.#signal;
    const controller = new AbortController();
    this.#signal = controller.signal;
    const reply = this.#reply;
    const leave = (): void => {
      if (!reply.writableFinished) controller.abort();
    };
    if (reply.closed || reply.destroyed) leave();
    else reply.once('close', leave);
    return this.#signal;
  }

  /** The body as Node gives it. Rejects when its sender leaves before the end. */
  async arrayBuffer(): Promise<ArrayBuffer> {
    if (this.#full !== undefined) return this.#full.arrayBuffer();
    if (this.#isRead) throw new TypeError('The body was read already');
    this.#isRead = true;
    const message = this.#message;
    const chunks: Uint8Array[] = [];
    return new Promise((resolve, reject) => {
      const fail = (): void => reject(new TypeError('The sender left before the end of the body'));
      if (message.destroyed) return fail();
      // Every message closes. An error is not made, with its stack, for one that was received whole.
      const close = (): void => {
        if (!message.readableEnded) fail();
      };
      message.on('data', (chunk: Uint8Array) => chunks.push(chunk));
      message.once('end', () => {
        const [first, ...rest] = chunks;
        // Node cuts chunks out of larger memory, which would stay with them.
        resolve(new Uint8Array(rest.length === 0 ? (first ?? []) : Buffer.concat(chunks)).buffer);
      });
      message.once('error', fail);
      message.once('close', close);
    });
  }

  get #whole(): Request {
    const { method, url, signal } = this;
    const body = this.#isRead || method === 'GET' || method === 'HEAD' ? null : this.#message;
    // The library takes Node's own streams and records, which its types do not say.
    const init: object = { method, headers: this.#message.headers, signal, body, duplex: 'half' };
    this.#full ??= new FullRequest(url, init);
    return this.#full;
  }
  get body(): Request['body'] {
    return this.#isRead ? null : this.#whole.body;
  }
  get bodyUsed(): boolean {
    return this.#isRead || (this.#full?.bodyUsed ?? false);
  }
  protected override get full(): Request {
    if (this.#isRead) throw new TypeError('The body was read already');
    return this.#whole;
  }
  get cache() {
    return this.#whole.cache;
  }
  get credentials() {
    return this.#whole.credentials;
  }
  get destination() {
    return this.#whole.destination;
  }
  get duplex() {
    return 'half' as const;
  }
  get integrity() {
    return this.#whole.integrity;
  }
  get keepalive() {
    return this.#whole.keepalive;
  }
  get mode() {
    return this.#whole.mode;
  }
  get redirect() {
    return this.#whole.redirect;
  }
  get referrer() {
    return this.#whole.referrer;
  }
  get referrerPolicy() {
    return this.#whole.referrerPolicy;
  }
}
