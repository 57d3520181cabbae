import type { Clock } from '../core/clock.ts';

const BREATH_MS = 10_000;

/**
 * A JSON answer whose headers go out at once and whose text comes when it is there; white space, which JSON allows, keeps the
 * connection awake meanwhile. A client that leaves ends nothing but its own waiting. `failed` gives the text of a failure.
 */
export const patientJson = (clock: Clock, answer: Promise<unknown>, failed: (error: unknown) => unknown): Response => {
  const encoder = new TextEncoder();
  let cancelBreath = (): void => {};
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      // Servers send headers with the first byte of a body.
      controller.enqueue(encoder.encode(' '));
      const breathe = (): void => {
        cancelBreath = clock.after(BREATH_MS, () => {
          controller.enqueue(encoder.encode(' '));
          breathe();
        });
      };
      breathe();
      const finish = (value: unknown): void => {
        cancelBreath();
        try {
          controller.enqueue(encoder.encode(JSON.stringify(value)));
          controller.close();
        } catch {
          // Nobody listens any more.
        }
      };
      answer.then(finish, (error: unknown) => finish(failed(error)));
    },
    cancel: () => cancelBreath(),
  });
  return new Response(body, { headers: { 'content-type': 'application/json', 'cache-control': 'no-store' } });
};
