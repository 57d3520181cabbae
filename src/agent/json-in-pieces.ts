const HEADERS = { 'content-type': 'application/json' };

/**
 * A JSON answer whose text comes in pieces. One piece is sent whole; of more each is asked for when the client has taken the
 * one before it. Rejects when the first two cannot be had; a failure after that breaks the answer off.
 */
export const jsonInPieces = async (
  pieces: AsyncGenerator<string>,
  onBug: (error: unknown) => void,
): Promise<Response> => {
  const first = await pieces.next();
  let next = await pieces.next();
  const text = first.done === true ? '' : first.value;
  if (next.done === true) return new Response(text, { headers: HEADERS });
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(encoder.encode(text)),
    async pull(controller) {
      if (next.done === true) return controller.close();
      controller.enqueue(encoder.encode(next.value));
      try {
        next = await pieces.next();
      } catch (error) {
        onBug(error);
        controller.error(error);
      }
    },
    cancel: async () => void (await pieces.return(undefined)),
  });
  return new Response(body, { headers: HEADERS });
};
