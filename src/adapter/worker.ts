import { ConfigError, type Variables } from '../core/config.ts';
import type { Handler } from '../core/handler.ts';

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

const refusal = (problems: readonly string[]): Response => {
  for (const problem of problems) console.error(`gatehouse: ${problem}`);
  const message = `The service is not configured: ${problems.map((problem) => problem.split(':')[0]).join(', ')}`;
  return new Response(
    JSON.stringify({ error: { message, type: 'server_error', param: null, code: 'misconfigured' } }),
    {
      status: 500,
      headers: { 'content-type': 'application/json' },
    },
  );
};

/** Builds the handler once per isolate, at the first request: only then does a Worker know its variables. */
export const workerModule = (build: (variables: Variables) => Promise<Handler>): WorkerModule => {
  let built: Promise<Handler> | undefined;
  return {
    async fetch(request, bindings) {
      try {
        built ??= build(variablesOf(bindings));
        const handler = await built;
        return await handler(request);
      } catch (error) {
        if (error instanceof ConfigError) return refusal(error.problems);
        throw error;
      }
    },
  };
};
