import * as v from 'valibot';
import { Fault } from '../../core/fault.ts';
import type { RouteTable } from '../../core/http/router.ts';
import { type ConsoleFault, isConsoleFault } from '../errors.ts';
import type { ServiceCall, ServiceClient } from '../services/service-client.ts';
import { type ApiContext, changing, parseGiven, pathSegment, reading, requireSet } from './context.ts';

const CheckBody = v.object({
  model: v.pipe(v.string(), v.minLength(1), v.maxLength(200)),
  input: v.pipe(v.string(), v.minLength(1), v.maxLength(1_000_000)),
  policy: v.optional(v.pipe(v.string(), v.maxLength(200))),
});
const KeyBody = v.variant('action', [
  v.object({
    action: v.literal('rest'),
    seconds: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(86_400)),
  }),
  v.object({ action: v.literal('release') }),
]);

/** A verdict may take the whole time of a request of the gateway. */
const CHECK_LIMIT_MS = 60_000;

/** The moderation gateway's state, a text tried by hand, and its backend keys. */
export const createModerationRoutes = (context: ApiContext): RouteTable => {
  const { bodies, reply, clients, parts } = context;
  const gateway = (): ServiceClient => requireSet(clients.gateway, parts.moderation);
  /** The text of an answer. An error of the gateway names a route of the gateway, which is reached by one of ours. */
  const ask = async (call: ServiceCall, signal: AbortSignal): Promise<string> => {
    try {
      return (await gateway().ask(call, signal)).text;
    } catch (error) {
      if (!isConsoleFault(error) || error.detail.kind !== 'service-refused') throw error;
      const message = error.detail.message.replace('GET /admin/state', 'GET /api/moderation');
      throw new Fault<ConsoleFault>({ ...error.detail, message });
    }
  };
  return {
    '/api/moderation': {
      GET: reading(context, 'viewer', async ({ signal }) =>
        reply.text(await ask({ method: 'GET', path: '/admin/state' }, signal)),
      ),
    },
    '/api/check': {
      POST: changing(context, 'approver', async (request) => {
        gateway();
        const body = parseGiven(CheckBody, await bodies.readJson(request));
        const call = { method: 'POST', path: '/admin/check', body, limitMs: CHECK_LIMIT_MS } as const;
        return reply.text(await ask(call, request.signal));
      }),
    },
    '/api/keys/:fingerprint': {
      POST: changing(context, 'admin', async (request, { fingerprint = '' }) => {
        gateway();
        const { action, ...rest } = parseGiven(KeyBody, await bodies.readJson(request));
        const path = `/admin/keys/${pathSegment(fingerprint)}/${action}`;
        return reply.text(await ask({ method: 'POST', path, body: rest }, request.signal));
      }),
    },
  };
};
