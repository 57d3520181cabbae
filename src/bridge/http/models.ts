import { Fault } from '../../core/fault.ts';
import { jsonResponse } from '../../core/http/response.ts';
import type { RouteTable } from '../../core/http/router.ts';
import { type ModelCatalog, modelNameOf } from '../agent/models.ts';
import type { AgentModel } from '../agent/types.ts';

/** Clients expect a date, which the agent's models do not have: the year of the first release. */
const CREATED_SECONDS = Date.UTC(2026, 0, 1) / 1000;

const toModelObject = (model: AgentModel) => ({
  id: modelNameOf(model),
  object: 'model',
  created: CREATED_SECONDS,
  owned_by: model.providerID,
  name: model.name,
  ...(model.contextTokens > 0 ? { context_length: model.contextTokens } : {}),
});

/** `GET /v1/models` and `GET /v1/models/{id}`; the slash of an id may be escaped or not. */
export const createModelsRoutes = (catalog: ModelCatalog, authenticate: (request: Request) => string): RouteTable => ({
  '/v1/models': {
    async GET(request) {
      authenticate(request);
      return jsonResponse(200, { object: 'list', data: (await catalog.list()).map(toModelObject) });
    },
  },
  '/v1/models/:id+': {
    async GET(request, { id }) {
      authenticate(request);
      if (id === undefined) throw new Fault({ kind: 'not-found', hint: 'No model is named' });
      return jsonResponse(200, toModelObject(await catalog.find(id)));
    },
  },
});
