import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { fetchText, KEY } from '../client.ts';
import type { Gateway } from './process.ts';

/** The process ids of the workers that a gateway has at the moment. */
export const workerIds = ({ child }: Gateway): number[] =>
  readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number);

type Line = Readonly<Record<string, unknown>> & { readonly event: string };

/** The lines that a gateway has logged so far. A line that is torn makes this fail. */
export const linesOf = (gateway: Gateway): Line[] =>
  gateway
    .stderr()
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Line);

/** One connection that is kept alive as long as the gateway leaves it open, and what came of each question on it. */
export const openConnection = (address: string) => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  return {
    /** The status, or the code of what became of the connection. */
    ask: (id: string, input: string) =>
      new Promise<number | string>((settle) => {
        const call = request(`${address}/v1/moderations`, {
          agent,
          method: 'POST',
          headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json', 'x-request-id': id },
        });
        call.setTimeout(10_000, () => call.destroy(Object.assign(new Error('no answer'), { code: 'NO_ANSWER' })));
        call.on('error', (error: NodeJS.ErrnoException) => settle(error.code ?? error.message));
        call.on('response', (response) => {
          response.on('error', (error: NodeJS.ErrnoException) => settle(error.code ?? error.message));
          response.resume().on('end', () => settle(response.statusCode ?? 0));
        });
        call.end(JSON.stringify({ input }));
      }),
    close: () => agent.destroy(),
  };
};

/** Waits for something that becomes true within 10 s. */
export const until = async (isSo: () => boolean | Promise<boolean>, what: string): Promise<void> => {
  for (const endsAt = Date.now() + 10_000; !(await isSo()); ) {
    if (Date.now() > endsAt) throw new Error(`Waited in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
};

/** The value of a metric, with its labels as they are written. */
export const metric = async (address: string, name: string): Promise<number> => {
  const { text } = await fetchText(`${address}/metrics`);
  const line = text.split('\n').find((candidate) => candidate.startsWith(`${name} `));
  return line === undefined ? 0 : Number(line.slice(name.length + 1));
};

export const ANSWERED = 'gatehouse_requests_total{method="POST",route="/v1/moderations",status="200"}';

type Failure = { readonly at: number; readonly code: number | string; readonly worker: number | undefined };

/** What clients saw that asked without pause. */
export type Load = {
  /** Requests answered with 200. */
  readonly answered: () => number;
  /** Everything else, with the moment and the worker that had answered on the same connection before, if one had. */
  readonly failures: () => readonly Failure[];
  readonly stop: () => Promise<void>;
};

/** Clients that each ask over one connection, and open another one when it breaks. */
export const startLoad = (gateway: Gateway, clients: number): Load => {
  const seen: { readonly ids: readonly string[]; readonly code: number | string; readonly at: number }[] = [];
  let answered = 0;
  let isOver = false;
  const client = async (name: number): Promise<void> => {
    for (let turn = 0; !isOver; ) {
      const connection = openConnection(gateway.address);
      const ids: string[] = [];
      for (; !isOver; turn++) {
        const id = `load-${name}-${turn}`;
        const code = await connection.ask(id, `line ${name}, text ${turn % 20}`);
        if (code !== 200) {
          seen.push({ ids, code, at: Date.now() });
          turn += 1;
          break;
        }
        answered += 1;
        ids.push(id);
      }
      connection.close();
    }
  };
  const running = Array.from({ length: clients }, (_, name) => client(name));
  return {
    answered: () => answered,
    failures() {
      const workerOf = new Map(linesOf(gateway).map(({ requestId, worker }) => [requestId, worker]));
      return seen.map(({ ids, code, at }) => {
        // A worker that is killed may not have written its last lines.
        const worker = workerOf.get(ids.findLast((id) => workerOf.has(id)));
        return { code, at, worker: typeof worker === 'number' ? worker : undefined };
      });
    },
    async stop() {
      isOver = true;
      await Promise.all(running);
    },
  };
};
