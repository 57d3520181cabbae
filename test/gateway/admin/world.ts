import type { Answer, WorldSettings } from '../harness/world.ts';
import { GATEWAY_KEY, gatewayOver } from '../harness/world.ts';

export const ADMIN_KEY = 'canary-admin-key-3e7a';

/** A gateway with an admin key. `admin` sends a request with it, a POST where there is a body. */
export const adminOver = (answer: Answer, { variables = {}, needs = {}, ...rest }: WorldSettings = {}) => {
  const world = gatewayOver(answer, { variables: { GATEWAY_ADMIN_KEY: ADMIN_KEY, ...variables }, needs, ...rest });
  const admin = (path: string, body?: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Response> =>
    world.app(
      new Request(`http://gateway.test/admin/${path}`, {
        method: body === undefined ? 'GET' : 'POST',
        headers: { authorization: `Bearer ${ADMIN_KEY}`, 'content-type': 'application/json', ...headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    );
  const askGuard = (content: string) =>
    world.app(
      new Request('http://gateway.test/v1/chat/completions', {
        method: 'POST',
        headers: { authorization: `Bearer ${GATEWAY_KEY}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'qwen3guard', messages: [{ role: 'user', content }] }),
      }),
    );
  return { ...world, admin, askGuard };
};

/** One event as it is sent. */
export type SentEvent = { readonly event: string; readonly id?: string; readonly data?: unknown };

const parseEvent = (block: string): SentEvent[] => {
  const fields = Object.fromEntries(block.split('\n').map((line) => line.split(/: (.*)/s) as [string, string]));
  if (fields.event === undefined) return [];
  return [
    {
      event: fields.event,
      ...(fields.id === undefined ? {} : { id: fields.id }),
      data: JSON.parse(fields.data ?? 'null'),
    },
  ];
};

/** Reads a stream of events. `next` gives what has arrived since, `text` all of it as it came. */
export const readEvents = (response: Response) => {
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  let text = '';
  let seen = 0;
  let isOver = false;
  const pump = async (): Promise<void> => {
    for (let next = await reader.read(); !next.done; next = await reader.read())
      text += decoder.decode(next.value, { stream: true });
    isOver = true;
  };
  const pumped = pump().catch(() => {});
  return {
    next(): SentEvent[] {
      const end = text.lastIndexOf('\n\n') + 2;
      const fresh = text.slice(seen, Math.max(seen, end));
      seen = Math.max(seen, end);
      return fresh.split('\n\n').flatMap(parseEvent);
    },
    text: () => text,
    isOver: () => isOver,
    async leave() {
      await reader.cancel();
      await pumped;
    },
  };
};
