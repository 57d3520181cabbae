import { ConfigError, type Variables } from '../../core/config.ts';
import type { Handler } from '../../core/http/handler.ts';
import { systemClock } from '../node/clock.ts';

/** What a Worker's module exports, and what `deno serve` and `bun` take as well. */
export type WorkerModule = { readonly fetch: (request: Request, bindings?: Variables) => Promise<Response> };

type Host = {
  readonly Deno?: { readonly env: { readonly toObject: () => Variables } };
  readonly process?: { readonly env: Variables };
};

/** The variables of the runtime: a Worker is handed its own, Deno and Bun keep them in a global. */
const variablesOf = (bindings: unknown): Variables => {
  const host: Host = globalThis;
  const own = host.Deno?.env.toObject() ?? host.process?.env ?? {};
  // Workers pass bindings that are not texts as well; Deno passes facts about the connection there.
  const given: readonly (readonly [string, unknown])[] = Object.entries(Object(bindings));
  const texts = given.flatMap(([name, value]) => (typeof value === 'string' ? [[name, value] as const] : []));
  return { ...own, ...Object.fromEntries(texts) };
};

/** The variables that a list of problems speaks of, each once. Lines that only explain begin with no name. */
const namesIn = (problems: readonly string[]): string => {
  const names = problems.flatMap((problem) => /^[A-Z][A-Z0-9_]*(?=:)/.exec(problem) ?? []);
  return [...new Set(names)].join(', ');
};

const refusal = (problems: readonly string[]): Response => {
  for (const problem of problems) console.error(`gatehouse: ${problem}`);
  const message = `The service is not configured: ${namesIn(problems)}`;
  return new Response(
    JSON.stringify({ error: { message, type: 'server_error', param: null, code: 'misconfigured' } }),
    {
      status: 500,
      headers: { 'content-type': 'application/json' },
    },
  );
};

const DISCARD_LIMIT_BYTES = 16_777_216;
const DISCARD_LIMIT_MS = 2000;

const discard = async (body: ReadableStream<Uint8Array>): Promise<void> => {
  const reader = body.getReader();
  let bytes = 0;
  while (bytes <= DISCARD_LIMIT_BYTES) {
    const { done, value } = await reader.read();
    if (done) return;
    bytes += value.byteLength;
  }
  await reader.cancel();
};

/** A body that was refused unread still has to arrive: workerd cuts the connection otherwise, and the answer with it. */
const arrivalOf = async (request: Request): Promise<void> => {
  if (request.bodyUsed || request.body === null) return;
  const arrived = discard(request.body).catch(() => {});
  await new Promise<void>((resolve) => {
    const cancel = systemClock.after(DISCARD_LIMIT_MS, resolve);
    arrived.then(() => {
      cancel();
      resolve();
    });
  });
};

/** Builds the handler once per isolate, at the first request: only then does a Worker know its variables. */
export const workerModule = (build: (variables: Variables) => Promise<Handler>): WorkerModule => {
  let built: Promise<Handler> | undefined;
  return {
    async fetch(request, bindings) {
      try {
        built ??= build(variablesOf(bindings)).catch((error: unknown) => {
          // What was missing, such as a server on this machine, may be there at the next request.
          built = undefined;
          throw error;
        });
        const handler = await built;
        const answer = await handler(request);
        await arrivalOf(request);
        return answer;
      } catch (error) {
        if (error instanceof ConfigError) return refusal(error.problems);
        throw error;
      }
    },
  };
};
