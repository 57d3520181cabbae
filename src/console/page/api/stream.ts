/** Events of a streamed answer: the name (`message` without one) and the data. */
export type StreamedEvent = { readonly event: string; readonly data: string };

const eventOf = (block: string): StreamedEvent | undefined => {
  let event = 'message';
  const data: string[] = [];
  for (const line of block.split(/\r\n|\r|\n/)) {
    if (line.startsWith('data:')) data.push(line.slice(line[5] === ' ' ? 6 : 5));
    else if (line.startsWith('event:')) event = line.slice(6).trim();
  }
  return data.length === 0 ? undefined : { event, data: data.join('\n') };
};

/** Reads the server-sent events of a response to a POST, which `EventSource` cannot make. Leaving the loop cancels it. */
export async function* streamedEvents(response: Response): AsyncGenerator<StreamedEvent> {
  if (response.body === null) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  try {
    while (true) {
      const { done, value } = await reader.read();
      if (done) break;
      rest += value;
      const blocks = rest.split(/\r\n\r\n|\n\n|\r\r/);
      rest = blocks.pop() ?? '';
      for (const block of blocks) {
        const event = eventOf(block);
        if (event !== undefined) yield event;
      }
    }
    const last = eventOf(rest);
    if (last !== undefined) yield last;
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
