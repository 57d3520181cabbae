import { type CoreFault, Fault } from '../../../../src/core/fault.ts';
import { createRoutes, type RouteTable } from '../../../../src/core/http/router.ts';
import { rejection } from '../../../check.ts';

/** Routes with and without parameters, each with an answer of its own. */
export const TABLE: RouteTable = {
  '/v1/models': { GET: () => new Response('list') },
  '/v1/models/:id': { GET: (_, { id }) => new Response(id) },
  '/v1/moderations': { POST: async (request) => new Response(await request.text(), { status: 201 }) },
  '/things/:kind/:id': { PUT: (_, params) => Response.json(params), DELETE: () => new Response(null, { status: 204 }) },
  '/broken': {
    GET() {
      throw new Error('sync');
    },
    async POST() {
      throw new Fault({ kind: 'backend-timeout' });
    },
  },
};
/** The handler of the routes, and the label of a request. */
export const { handler, routeOf } = createRoutes(TABLE, (path) => `No path ${path}`);

/** A request of this path and method. */
export const asking = (path: string, method = 'GET'): Request => new Request(`http://gateway.test${path}`, { method });
/** A request of a runtime that lets any method and any spelling of a URL through. */
export const raw = (url: string, method = 'GET'): Request =>
  ({ url, method, headers: new Headers() }) as unknown as Request;
/** The detail of the fault that a request ends in. */
export const faultOf = async (request: Request): Promise<CoreFault> => {
  const thrown = await rejection(handler(request));
  if (thrown instanceof Fault) return thrown.detail;
  throw thrown;
};
