import { type BridgeWorld, type ChatBody, contentIn, dataIn } from './world.ts';

/** A streamed chat completion that is read while it comes. */
export type LiveStream = {
  readonly response: Response;
  /** The data of the events so far. */
  readonly data: readonly string[];
  /** Everything as it came, comments too. */
  readonly raw: () => string;
  readonly text: () => string;
  /** Reads until the text so far holds these words. Fails when it ends without. */
  readonly until: (words: string) => Promise<void>;
  /** Reads one chunk; says whether there was one. */
  readonly next: () => Promise<boolean>;
  /** The whole text. */
  readonly rest: () => Promise<string>;
  /** Closes the connection, as a client does that leaves. */
  readonly leave: () => Promise<void>;
};

type Opening = { readonly path?: string; readonly headers?: Readonly<Record<string, string>> };

/** Settles when the stream has begun, which is before its first word. */
export const openStream = async (
  world: Pick<BridgeWorld, 'send'>,
  body: ChatBody,
  { path = '/v1/chat/completions', headers = {} }: Opening = {},
): Promise<LiveStream> => {
  const leaving = new AbortController();
  const response = await world.send(path, { ...body, stream: true }, headers, leaving.signal);
  if (response.status !== 200 || response.body === null)
    throw new Error(`no stream: ${response.status} ${await response.text()}`);
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  const data: string[] = [];
  let raw = '';
  let text = '';
  const next = async (): Promise<boolean> => {
    const { done, value } = await reader.read();
    if (done) return false;
    const more = decoder.decode(value, { stream: true });
    raw += more;
    for (const line of dataIn(more)) {
      data.push(line);
      text += contentIn(line);
    }
    return true;
  };
  return {
    response,
    data,
    raw: () => raw,
    text: () => text,
    async until(words) {
      while (!text.includes(words)) if (!(await next())) throw new Error(`It ended with ${text.slice(-200)}`);
    },
    next,
    async rest() {
      while (await next());
      return text;
    },
    async leave() {
      leaving.abort();
      await reader.cancel();
    },
  };
};
