import { jsonResponse } from '../../core/http/response.ts';
import type { Readiness } from '../readiness.ts';
import type { GatewaySettings } from '../settings/variables.ts';

type ReadyRouteNeeds = {
  readonly settings: Pick<GatewaySettings, 'NO_VERDICT'>;
  readonly isStopping: () => boolean;
  readonly checkReadiness: () => Promise<Readiness>;
};

/** `GET /ready`: 200 as long as the gateway can answer something that blocks, else 503 with the reasons. */
export const createReadyRoute =
  ({ settings, isStopping, checkReadiness }: ReadyRouteNeeds) =>
  async (): Promise<Response> => {
    const { reasons, missing, warnings } = await checkReadiness();
    const lacks = {
      ...(missing.length === 0 ? {} : { missing_models_for: missing }),
      ...(warnings.length === 0 ? {} : { warnings }),
    };
    // Without endpoints clients are refused the connection, and those that fail open pass everything. A flag blocks.
    const isFlagging = settings.NO_VERDICT === 'flag' && !isStopping();
    if (reasons.length > 0 && isFlagging) return jsonResponse(200, { status: 'flagging', reasons, ...lacks });
    if (reasons.length > 0) return jsonResponse(503, { status: 'not ready', reasons, ...lacks });
    return jsonResponse(200, { status: 'ready', ...lacks });
  };
