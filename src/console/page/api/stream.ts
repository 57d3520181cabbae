import { createSseParser } from '../../../core/http/sse-parser.ts';

const EVENT_LIMIT_CHARS = 8 * 1024 * 1024;

/** The data of the events of a response to a POST, which `EventSource` cannot make. Leaving the loop cancels it. */
export async function* streamedEvents({ body }: Response): AsyncGenerator<string> {
  const reader = body?.getReader();
  const parser = createSseParser({ limitChars: EVENT_LIMIT_CHARS });
  try {
    for (let read = await reader?.read(); read?.done === false; read = await reader?.read())
      for (const item of parser.push(read.value)) if (item.kind === 'event') yield item.data;
  } finally {
    await reader?.cancel().catch(() => undefined);
  }
}
