import * as v from 'valibot';
import type { Clock } from '../../core/clock.ts';
import { Fault } from '../../core/fault.ts';
import { matchingKeyIndex } from '../../core/http/auth.ts';
import type { RequestBodies } from '../../core/http/request-bodies.ts';
import { jsonResponse } from '../../core/http/response.ts';
import type { RouteTable } from '../../core/http/router.ts';
import type { KeyPool } from '../../llm/key-pool.ts';
import { MAX_REST_MS } from '../../llm/key-state.ts';
import type { ModelAlias } from '../models.ts';
import type { PolicySelection } from '../policy/policy.ts';
import type { Readiness } from '../readiness.ts';
import { type ProcessStateNeeds, readProcessState } from './admin.ts';
import { parseAdminBody } from './body.ts';
import type { Feed } from './feed.ts';
import { keyReports } from './state.ts';

/** Which processes a change of a key reaches now: this one, or all replicas. */
export type KeyChangeScope = 'process' | 'replicas';

/** The body of `POST /admin/keys/{fingerprint}/rest`. */
export const RestRequest = v.object({
  seconds: v.pipe(
    v.number('a whole number from 1 to 86400'),
    v.safeInteger('a whole number from 1 to 86400'),
    v.minValue(1),
    v.maxValue(MAX_REST_MS / 1000),
  ),
});

type AdminNeeds = ProcessStateNeeds & {
  readonly adminKey: string;
  readonly clock: Clock;
  readonly version: string;
  readonly bodies: Pick<RequestBodies, 'readJson'>;
  readonly pool: Pick<KeyPool, 'rest' | 'release' | 'details'>;
  readonly shared?: { readonly coolDowns: { readonly scope: () => KeyChangeScope } };
  readonly checkReadiness: () => Promise<Readiness>;
  readonly models: ReadonlyMap<string, ModelAlias>;
  readonly policies: PolicySelection;
  readonly feed: Pick<Feed, 'stream'>;
  readonly check: (request: Request) => Promise<Response>;
};

type AdminRoute = (request: Request, params: Readonly<Record<string, string>>) => Response | Promise<Response>;

/** No gateway key has this index: an alias is shown with the policy that is its own. */
const NO_KEY = -1;

/** Creates the routes under `/admin`. Each requires the admin key. */
export const createAdminRoutes = (needs: AdminNeeds): RouteTable => {
  const { clock, version, pool, models, policies, shared } = needs;
  const locked =
    (route: AdminRoute): AdminRoute =>
    (request, params) => {
      if (matchingKeyIndex(request, [needs.adminKey]) === -1) throw new Fault({ kind: 'unauthorized' });
      return route(request, params);
    };

  const readState = async () => {
    const ready = await needs.checkReadiness();
    const { usage, ...state } = readProcessState(needs);
    return {
      time: clock.now(),
      version,
      ...state,
      ...usage,
      aliases: [...models.values()].map(({ alias, model, judge, vision, guard, second }) => ({
        alias,
        model,
        judge,
        vision: vision !== false,
        policy: policies.select(alias, NO_KEY).version,
        ...(guard === undefined ? {} : { guard }),
        ...(second === undefined ? {} : { second: second.alias.alias }),
      })),
      policies: policies.policies.map((policy) => ({
        version: policy.version,
        categories: policy.categories.map(({ name, threshold }) => ({ name, threshold })),
      })),
      ready,
    };
  };

  const changed = (isKnown: boolean, fingerprint: string): Response => {
    const key = keyReports(pool.details()).find((one) => one.fingerprint === fingerprint);
    if (!isKnown || key === undefined)
      throw new Fault({
        kind: 'not-found',
        hint: 'No backend key has this fingerprint; GET /admin/state lists those that there are',
      });
    return jsonResponse(200, { ...key, applies_to: shared?.coolDowns.scope() ?? 'process' });
  };

  return {
    '/admin/state': { GET: locked(async () => jsonResponse(200, await readState(), { 'cache-control': 'no-store' })) },
    '/admin/keys/:fingerprint/rest': {
      POST: locked(async (request, { fingerprint = '' }) => {
        const { seconds } = parseAdminBody(RestRequest, await needs.bodies.readJson(request));
        return changed(pool.rest(fingerprint, seconds * 1000), fingerprint);
      }),
    },
    '/admin/keys/:fingerprint/release': {
      POST: locked((_, { fingerprint = '' }) => changed(pool.release(fingerprint), fingerprint)),
    },
    '/admin/check': { POST: locked(needs.check) },
    '/admin/events': { GET: locked(needs.feed.stream) },
  };
};
