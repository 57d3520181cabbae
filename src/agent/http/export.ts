import type { RouteTable } from '../../core/http/router.ts';
import { exportSession } from '../session/export.ts';
import { notFound } from '../session/sessions.ts';
import type { RouteContext } from './context.ts';

/** A body of lines, each read when the client takes it. One that breaks off lacks the last line of the document. */
const streamLines = (lines: AsyncIterable<string>): ReadableStream<Uint8Array> => {
  const encoder = new TextEncoder();
  const iterator = lines[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const next = await iterator.next();
        if (next.done === true) controller.close();
        else controller.enqueue(encoder.encode(`${next.value}\n`));
      },
      async cancel() {
        await iterator.return?.();
      },
    },
    { highWaterMark: 0 },
  );
};

/** The document that `gatehouse agent export` writes, over HTTP. */
export const exportRoutes = ({ store }: RouteContext): RouteTable => ({
  '/session/:id/export': {
    async GET(_request, { id = '' }) {
      const lines = await exportSession(store, id);
      if (lines === undefined) throw notFound('session', id);
      return new Response(streamLines(lines), {
        headers: {
          'content-type': 'application/x-ndjson',
          'content-disposition': 'attachment; filename="session.jsonl"',
          'cache-control': 'no-store',
        },
      });
    },
  },
});
