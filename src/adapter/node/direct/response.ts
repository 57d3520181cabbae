import { STATUS_CODES } from 'node:http';
import { Headers as FullHeaders, Response as FullResponse } from '@whatwg-node/fetch';
import { LazyBody } from './body.ts';
import { LazyHeaders } from './headers.ts';

/** What a field may be named, and what its value may hold (RFC 9110, sections 5.1 and 5.5). */
const FIELD_NAME = /^[!#$%&'*+.^`|~\w-]+$/;
const FIELD_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Headers of a response, kept as they were given. */
class PlainHeaders extends LazyHeaders {
  readonly #fields = new Map<string, string>();

  constructor(fields: Readonly<Record<string, string>>, bytes: number) {
    super();
    for (const name in fields) this.set(name, String(fields[name]));
    if (!this.#fields.has('content-type')) this.#fields.set('content-type', 'text/plain;charset=UTF-8');
    this.#fields.set('content-length', String(bytes));
  }
  override set(name: string, value: string): void {
    if (this.isFull) {
      super.set(name, value);
      return;
    }
    if (!FIELD_NAME.test(name) || !FIELD_VALUE.test(value)) throw new TypeError('A header that cannot be sent');
    this.#fields.set(name.toLowerCase(), value);
  }
  protected override find(name: string): string | undefined {
    return this.#fields.get(name);
  }
  protected override makeFull(): Headers {
    return new FullHeaders([...this.#fields]);
  }
  /** Names and values in turn, as `writeHead` takes them. */
  raw(): string[] {
    const fields: string[] = [];
    for (const [name, value] of this.isFull ? this : this.#fields) fields.push(name, value);
    return fields;
  }
}

type ResponseArguments = ConstructorParameters<typeof globalThis.Response>;
type Status = { readonly status: number; readonly statusText: string };

/** A response whose body is a text, which Node can send as it is. Reading it makes the full response, which takes over. */
export class TextResponse extends LazyBody<Response> implements Response {
  readonly status: number;
  readonly statusText: string;
  readonly redirected = false;
  readonly type = 'default';
  readonly url = '';
  readonly #text: string;
  readonly #headers: PlainHeaders;
  #full: Response | undefined;

  constructor(text: string, { status, statusText }: Status, fields: Readonly<Record<string, string>>) {
    super();
    this.status = status;
    this.statusText = statusText;
    this.#text = text;
    this.#headers = new PlainHeaders(fields, Buffer.byteLength(text));
  }
  /** What `writeHead` and `end` take; undefined once the body was touched. */
  get unsent(): { readonly text: string; readonly rawHeaders: string[] } | undefined {
    return this.#full === undefined ? { text: this.#text, rawHeaders: this.#headers.raw() } : undefined;
  }
  get headers(): Headers {
    return this.#headers;
  }
  get ok(): boolean {
    return this.status < 300;
  }
  protected override get full(): Response {
    const { status, statusText } = this;
    this.#full ??= new FullResponse(this.#text, { status, statusText, headers: this.#headers });
    return this.#full;
  }
  get body() {
    return this.full.body;
  }
  get bodyUsed(): boolean {
    return this.#full?.bodyUsed ?? false;
  }
  arrayBuffer() {
    return this.full.arrayBuffer();
  }
}

const isPlain = (status: number, headers: unknown): headers is Readonly<Record<string, string>> =>
  Number.isInteger(status) &&
  status >= 200 &&
  status <= 599 &&
  // These have no body, and the full response refuses one.
  ![204, 205, 304].includes(status) &&
  Object.getPrototypeOf(headers) === Object.prototype;

/** Takes the place of the global `Response` in the gateway's bundle: a text becomes a `TextResponse`. */
export const Response: typeof globalThis.Response = /* @__PURE__ */ new Proxy(FullResponse, {
  construct(Full, [body, init = {}]: ResponseArguments) {
    const { status = 200, statusText = STATUS_CODES[status] ?? '', headers = {} } = init;
    if (typeof body !== 'string' || !isPlain(status, headers)) return new Full(body, init);
    return new TextResponse(body, { status, statusText }, headers);
  },
});
