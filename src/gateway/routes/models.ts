import { jsonResponse } from '../../core/http/response.ts';
import type { RouteTable } from '../../core/http/router.ts';
import type { FindAlias, ModelAlias } from '../models.ts';
import { requireGatewayKey } from './callers.ts';

/** Clients expect a date, and aliases have none: the first day of the first release's year. */
const CREATED_SECONDS = Date.UTC(2026, 0, 1) / 1000;

const toModel = ({ alias }: ModelAlias) => ({
  id: alias,
  object: 'model',
  created: CREATED_SECONDS,
  owned_by: 'gatehouse',
});

/** `GET /v1/models` and `GET /v1/models/:id`: the aliases that a client may send. Requires a gateway key. */
export const modelRoutes = (
  models: ReadonlyMap<string, ModelAlias>,
  findAlias: FindAlias,
  gatewayKeys: readonly string[],
): RouteTable => ({
  '/v1/models': {
    GET(request) {
      requireGatewayKey(request, gatewayKeys);
      return jsonResponse(200, { object: 'list', data: [...models.values()].map(toModel) });
    },
  },
  '/v1/models/:id': {
    GET(request, { id }) {
      requireGatewayKey(request, gatewayKeys);
      return jsonResponse(200, toModel(findAlias(id ?? '')));
    },
  },
});
