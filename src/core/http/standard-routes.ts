import { Fault } from '../fault.ts';
import { jsonResponse } from './response.ts';
import type { RouteTable } from './router.ts';

type StandardRoutesNeeds = {
  readonly service: string;
  readonly version: string;
  /** Answers `/ready`: 200 when the service can take requests, else 503 with reasons. */
  readonly ready: () => Response | Promise<Response>;
  /** Metrics in Prometheus' text format; undefined where the runtime keeps none. */
  readonly metricsText: () => Promise<string | undefined>;
  /** Undefined where the service describes no API. */
  readonly openApi?: () => unknown;
};

/** The routes of every service: `/health`, `/ready` and `/metrics`, and `/openapi.json` of those that describe their API. */
export const createStandardRoutes = ({ openApi, ...needs }: StandardRoutesNeeds): RouteTable => ({
  '/health': { GET: () => jsonResponse(200, { status: 'ok', service: needs.service, version: needs.version }) },
  '/ready': { GET: needs.ready },
  '/metrics': {
    async GET() {
      const text = await needs.metricsText();
      if (text === undefined) throw new Fault({ kind: 'not-found', hint: 'This runtime keeps no metrics' });
      return new Response(text, { headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' } });
    },
  },
  ...(openApi === undefined ? {} : { '/openapi.json': { GET: () => jsonResponse(200, openApi()) } }),
});
