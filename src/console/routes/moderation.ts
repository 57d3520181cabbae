import * as v from 'valibot';
import { Fault } from '../../core/fault.ts';
import type { RouteTable } from '../../core/http/router.ts';
import { type ConsoleFault, isConsoleFault } from '../errors.ts';
import type { ServiceCall, ServiceClient } from '../services/service-client.ts';
import { type ApiContext, changing, parseGiven, pathSegment, reading } from './context.ts';

type ModerationRoutesNeeds = ApiContext & {
  /** The gateway's admin routes; undefined where they are not set. */
  readonly gateway: ServiceClient | undefined;
  readonly notConfigured: string;
};

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
export const createModerationRoutes = (needs: ModerationRoutesNeeds): RouteTable => {
  const { bodies, reply, gateway, notConfigured } = needs;
  const configured = (): ServiceClient => {
    if (gateway === undefined) throw new Fault<ConsoleFault>({ kind: 'not-configured', message: notConfigured });
    return gateway;
  };
  /** The text of an answer. An error of the gateway names a route of the gateway, which is reached by one of ours. */
  const ask = async (client: ServiceClient, call: ServiceCall, signal: AbortSignal): Promise<string> => {
    try {
      return (await client.ask(call, signal)).text;
    } catch (error) {
      if (!isConsoleFault(error) || error.detail.kind !== 'service-refused') throw error;
      const message = error.detail.message.replace('GET /admin/state', 'GET /api/moderation');
      throw new Fault<ConsoleFault>({ ...error.detail, message });
    }
  };
  return {
    '/api/moderation': {
      GET: reading(needs, 'viewer', async ({ signal }) =>
        reply.text(await ask(configured(), { method: 'GET', path: '/admin/state' }, signal)),
      ),
    },
    '/api/check': {
      POST: changing(needs, 'approver', async (request) => {
        const client = configured();
        const body = parseGiven(CheckBody, await bodies.readJson(request));
        const call = { method: 'POST', path: '/admin/check', body, limitMs: CHECK_LIMIT_MS } as const;
        return reply.text(await ask(client, call, request.signal));
      }),
    },
    '/api/keys/:fingerprint': {
      POST: changing(needs, 'admin', async (request, { fingerprint = '' }) => {
        const client = configured();
        const { action, ...rest } = parseGiven(KeyBody, await bodies.readJson(request));
        const path = `/admin/keys/${pathSegment(fingerprint)}/${action}`;
        return reply.text(await ask(client, { method: 'POST', path, body: rest }, request.signal));
      }),
    },
  };
};
