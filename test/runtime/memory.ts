import { readFileSync } from 'node:fs';
import { request } from 'node:http';

const MEGABYTE = 1024 * 1024;

/** The most memory that a process has ever used, in megabytes. */
export const peakMegabytes = (pid: number | undefined): number =>
  Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? Number.NaN) / 1024;

/** The heap that Node takes in a container with this limit, and what the image's entry point adds. */
export const heapOption = (limitMegabytes: number): string =>
  `--max-old-space-size=${limitMegabytes / 2} --max-semi-space-size=8`;

/** A chat whose image fills a body of this size. */
export const chatOf = (bytes: number): string => {
  const chat = (data: string): string =>
    JSON.stringify({
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'look' },
            { type: 'image_url', image_url: { url: `data:image/png;base64,${data}` } },
          ],
        },
      ],
    });
  return chat('A'.repeat(Math.floor((bytes - chat('').length) / 4) * 4));
};

export type Posting = {
  readonly address: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

/** Posts the same body many times at once. Each result is a status, or the code of what broke the connection. */
export const postAtOnce = (count: number, { address, path, headers, body }: Posting): Promise<(number | string)[]> => {
  const bytes = Buffer.from(body);
  const { port } = new URL(address);
  const post = (): Promise<number | string> =>
    new Promise((resolve) => {
      const sending = request(
        {
          port,
          host: '127.0.0.1',
          path,
          method: 'POST',
          headers: { 'content-type': 'application/json', 'content-length': bytes.length, ...headers },
        },
        (answer) => {
          answer.resume();
          answer.once('end', () => resolve(answer.statusCode ?? 0)).once('error', () => resolve('broken'));
        },
      );
      sending.once('error', (error) => resolve('code' in error ? String(error.code) : 'broken'));
      sending.end(bytes);
    });
  return Promise.all(Array.from({ length: count }, post));
};

/** Asks for `path` again and again until `stop` is called, which gives the statuses and the longest wait in milliseconds. */
export const startProbe = (address: string, path = '/health') => {
  const statuses = new Set<number>();
  let longestMs = 0;
  let isOver = false;
  const probe = async (): Promise<void> => {
    while (!isOver) {
      const startedAt = performance.now();
      const response = await fetch(address + path);
      await response.text();
      statuses.add(response.status);
      longestMs = Math.max(longestMs, performance.now() - startedAt);
    }
  };
  const probing = probe();
  return {
    async stop() {
      isOver = true;
      await probing;
      return { statuses: [...statuses], longestMs: Math.round(longestMs) };
    },
  };
};

export const megabytes = (count: number): number => count * MEGABYTE;
