import type { Clock } from '../core/clock.ts';
import { Fault } from '../core/fault.ts';
import { guard, type Handler } from '../core/http/handler.ts';
import { jsonResponse } from '../core/http/response.ts';
import { createRoutes, type RouteTable } from '../core/http/router.ts';
import { createStandardRoutes } from '../core/http/standard-routes.ts';
import type { Log } from '../core/log.ts';
import { withSecurityHeaders } from './assets/headers.ts';
import { createPageRoutes, type PageFiles } from './assets/page-routes.ts';
import { CONSOLE_ERROR_RESPONSES } from './errors.ts';
import type { ConsoleMetrics } from './metrics.ts';

export type ConsoleOptions = {
  readonly page: PageFiles | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly meter: ConsoleMetrics;
  /** SHA-256 as base64url. */
  readonly digest: (text: string) => string;
  readonly gzip: (text: string) => Uint8Array<ArrayBuffer>;
  readonly newRequestId: () => string;
  readonly version: string;
  readonly isStopping: () => boolean;
};

/** The console as a handler. Creating it does no I/O. */
export const createConsole = (options: ConsoleOptions): { readonly handler: Handler } => {
  const { page, clock, log, meter, digest, gzip, version, isStopping } = options;
  const pageRoutes = createPageRoutes({ page, gzip, digest });
  const table: RouteTable = {
    ...pageRoutes.table,
    ...createStandardRoutes({
      service: 'console',
      version,
      ready: () =>
        isStopping()
          ? jsonResponse(503, { status: 'not ready', reasons: ['the service is stopping'] }, { 'retry-after': '1' })
          : jsonResponse(200, { status: 'ready' }),
      metricsText: meter.text,
    }),
  };
  const routes = createRoutes(table, () => 'No such path. The page is at /, its API below /api');
  const guarded = guard(routes.handler, {
    clock,
    log,
    newRequestId: options.newRequestId,
    routeOf: routes.routeOf,
    onAnswered: meter.recordRequest,
    errors: CONSOLE_ERROR_RESPONSES,
    replaceFailure: (request, error) =>
      error instanceof Fault && error.detail.kind === 'not-found' ? pageRoutes.pageForUnknownPath(request) : undefined,
  });
  return { handler: withSecurityHeaders(guarded) };
};
