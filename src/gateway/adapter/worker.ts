import { systemClock } from '../../adapter/node/clock.ts';
import { ConfigError, type UnknownVariables, type Variables, withUnknownVariables } from '../../core/config.ts';
import type { Handler } from '../../core/http/handler.ts';

/** What a Cloudflare Worker's module exports. `deno serve` and `bun` take the same. */
type WorkerModule = { readonly fetch: (request: Request, bindings?: Variables) => Promise<Response> };

type Host = {
  readonly Deno?: { readonly env: { readonly toObject: () => Variables } };
  readonly process?: { readonly env: Variables };
};

/** The environment variables: a Worker gets them with each request, Deno and Bun have them in a global. */
const readVariables = (bindings: unknown): Variables => {
  const host: Host = globalThis;
  const own = host.Deno?.env.toObject() ?? host.process?.env ?? {};
  // Workers also pass bindings that are not strings. Deno passes data about the connection here.
  const given: readonly (readonly [string, unknown])[] = Object.entries(Object(bindings));
  const texts = given.flatMap(([name, value]) => (typeof value === 'string' ? [[name, value] as const] : []));
  return { ...own, ...Object.fromEntries(texts) };
};

/** The names of the variables in a list of errors, each once. Lines that only explain begin with no name. */
const variableNames = (problems: readonly string[]): string => {
  const names = problems.flatMap((problem) => /^[A-Z][A-Z0-9_]*(?=:)/.exec(problem) ?? []);
  return [...new Set(names)].join(', ');
};

const configErrorResponse = (problems: readonly string[]): Response => {
  for (const problem of problems) console.error(`gatehouse: ${problem}`);
  const message = `The service is not configured: ${variableNames(problems)}`;
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

const discardBody = async (body: ReadableStream<Uint8Array>): Promise<void> => {
  const reader = body.getReader();
  let bytes = 0;
  while (bytes <= DISCARD_LIMIT_BYTES) {
    const { done, value } = await reader.read();
    if (done) return;
    bytes += value.byteLength;
  }
  await reader.cancel();
};

/** Waits for the rest of a refused body: otherwise workerd closes the connection, and the response is lost. */
const awaitBodyArrival = async (request: Request): Promise<void> => {
  if (request.bodyUsed || request.body === null) return;
  const arrived = discardBody(request.body).catch(() => {});
  await new Promise<void>((resolve) => {
    const cancel = systemClock.after(DISCARD_LIMIT_MS, resolve);
    arrived.then(() => {
      cancel();
      resolve();
    });
  });
};

/**
 * Builds the handler once per isolate, at the first request: a Worker gets its variables only then. Errors of the
 * configuration also name the variables that have no effect, which `unknownVariables` finds.
 */
export const createWorkerModule = (
  build: (variables: Variables) => Promise<Handler>,
  unknownVariables: (variables: Variables) => UnknownVariables,
): WorkerModule => {
  let built: Promise<Handler> | undefined;
  const start = (variables: Variables): Promise<Handler> =>
    build(variables).catch((error: unknown) => {
      // What was missing, such as a local Ollama, may exist at the next request.
      built = undefined;
      throw withUnknownVariables(error, unknownVariables(variables));
    });
  return {
    async fetch(request, bindings) {
      try {
        built ??= start(readVariables(bindings));
        const handler = await built;
        const answer = await handler(request);
        await awaitBodyArrival(request);
        return answer;
      } catch (error) {
        if (error instanceof ConfigError) return configErrorResponse(error.problems);
        throw error;
      }
    },
  };
};
