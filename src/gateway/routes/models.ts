import { jsonResponse } from '../../core/http/json-response.ts';
import type { RouteTable } from '../../core/http/router.ts';
import { findAlias, type ModelAlias } from '../models.ts';
import { authorise } from './moderations.ts';

/** Clients want a date; aliases have none, so it is that of the first release's year. */
const CREATED_SECONDS = Date.UTC(2026, 0, 1) / 1000;

const modelOf = ({ alias }: ModelAlias) => ({
  id: alias,
  object: 'model',
  created: CREATED_SECONDS,
  owned_by: 'gatehouse',
});

/** `GET /v1/models` and `GET /v1/models/:id`: the aliases a client may ask for, for holders of a gateway key. */
export const modelRoutes = (models: ReadonlyMap<string, ModelAlias>, gatewayKeys: readonly string[]): RouteTable => ({
  '/v1/models': {
    GET(request) {
      authorise(request, gatewayKeys);
      return jsonResponse(200, { object: 'list', data: [...models.values()].map(modelOf) });
    },
  },
  '/v1/models/:id': {
    GET(request, { id }) {
      authorise(request, gatewayKeys);
      return jsonResponse(200, modelOf(findAlias(models, id ?? '')));
    },
  },
});
