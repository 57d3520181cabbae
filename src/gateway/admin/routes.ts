import * as v from 'valibot';
import { Fault } from '../../core/fault.ts';
import { matchingKeyIndex } from '../../core/http/auth.ts';
import type { RequestBodies } from '../../core/http/request-bodies.ts';
import { jsonResponse } from '../../core/http/response.ts';
import type { RouteTable } from '../../core/http/router.ts';
import type { Runtime } from '../../core/runtime.ts';
import type { Semaphore } from '../../core/semaphore.ts';
import type { Breaker } from '../../llm/breaker.ts';
import type { KeyPool } from '../../llm/key-pool.ts';
import { MAX_REST_MS } from '../../llm/key-state.ts';
import type { VerdictCache } from '../judge/cache.ts';
import type { ModelAlias } from '../models.ts';
import type { PolicySelection } from '../policy/policy.ts';
import type { Readiness } from '../readiness.ts';
import type { GatewaySettings } from '../settings/variables.ts';
import type { ShadowState } from '../shadow/state.ts';
import { parseAdminBody } from './body.ts';
import type { Feed } from './feed.ts';
import { breakerReport, keyReports } from './state.ts';
import type { UsageCounts } from './usage.ts';

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

type AdminNeeds = Pick<Runtime, 'clock'> & {
  readonly adminKey: string;
  readonly settings: Pick<GatewaySettings, 'MAX_CONCURRENCY' | 'CACHE_MAX_ENTRIES'>;
  readonly version: string;
  readonly bodies: Pick<RequestBodies, 'readJson'>;
  readonly pool: Pick<KeyPool, 'rest' | 'release' | 'details'>;
  readonly breaker: Pick<Breaker, 'status'>;
  readonly semaphore: Pick<Semaphore, 'running' | 'waiting'>;
  readonly cache: Pick<VerdictCache, 'size'>;
  readonly usage: UsageCounts;
  readonly shadowState: (() => ShadowState) | undefined;
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
  const { clock, version, settings, pool, semaphore, models, policies, shared, shadowState } = needs;
  const locked =
    (route: AdminRoute): AdminRoute =>
    (request, params) => {
      if (matchingKeyIndex(request, [needs.adminKey]) === -1) throw new Fault({ kind: 'unauthorized' });
      return route(request, params);
    };

  const readState = async () => {
    const ready = await needs.checkReadiness();
    return {
      time: clock.now(),
      version,
      keys: keyReports(pool.details()),
      breaker: breakerReport(needs.breaker.status()),
      calls: { running: semaphore.running(), waiting: semaphore.waiting(), limit: settings.MAX_CONCURRENCY },
      cache: { verdicts: needs.cache.size(), limit: settings.CACHE_MAX_ENTRIES },
      ...(shadowState === undefined ? {} : { shadow: shadowState() }),
      ...needs.usage.read(),
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
