import * as v from 'valibot';
import { jsonResponse } from '../../../core/http/response.ts';
import { type AuditDecision, type AuditEndpoint, auditEndpoint, effectiveMode } from '../audit/settings.ts';
import { invalid, ok, parseBody, parsePage, refusedResponse, toPage } from '../envelope.ts';
import type { RelayWorld } from '../world.ts';
import type { RelayTable } from './table.ts';

const Endpoint = v.object({
  id: v.string(),
  base_url: v.string(),
  token: v.exactOptional(v.string()),
  name: v.exactOptional(v.string()),
  model: v.exactOptional(v.string()),
  enabled: v.exactOptional(v.boolean()),
  timeout_ms: v.exactOptional(v.number()),
  input_limit: v.exactOptional(v.number()),
});
const Config = v.object({
  expected_config_version: v.number(),
  enabled: v.exactOptional(v.boolean()),
  blocking_enabled: v.exactOptional(v.boolean()),
  endpoints: v.exactOptional(v.array(Endpoint)),
});

const REFUSALS: Readonly<Partial<Record<AuditDecision, readonly [status: number, code: string, message: string]>>> = {
  block: [403, 'prompt_guard_blocked', 'The prompt was blocked by the prompt audit'],
  unavailable: [503, 'prompt_guard_unavailable', 'The prompt audit is not available'],
  invalid: [503, 'prompt_guard_invalid_response', 'The prompt audit got no valid answer'],
};

/** What a user reads whose chat the audit stops; undefined where it goes on. */
export const auditRefusal = (decision: AuditDecision): Response | undefined => {
  const refused = REFUSALS[decision];
  if (refused === undefined) return undefined;
  const [status, code, message] = refused;
  return jsonResponse(status, {
    error: { type: decision === 'block' ? 'permission_error' : 'api_error', code, message },
  });
};

/** The admin's routes about the audit. A token is stored and never shown; an endpoint keeps what it comes without. */
export const auditTable = ({ audit: { settings, events }, settings: relay }: RelayWorld): RelayTable => {
  const shown = () => ({
    ...settings,
    effective_mode: effectiveMode(settings, relay.isRiskControlOn),
    endpoints: settings.endpoints.map(({ token, ...rest }) => ({ ...rest, has_token: token !== '' })),
  });
  const toEndpoint = (given: v.InferOutput<typeof Endpoint>): AuditEndpoint =>
    auditEndpoint({ ...settings.endpoints.find(({ id }) => id === given.id), ...given });
  return {
    'GET prompt-audit/config': () => ok(shown()),
    'PUT prompt-audit/config': ({ body }) => {
      const given = parseBody(Config, body);
      if (given === undefined) return invalid('prompt-audit config');
      const { expected_config_version: expected, endpoints, enabled, blocking_enabled: isBlocking } = given;
      if (expected !== settings.config_version)
        return refusedResponse({ status: 409, message: 'config version mismatch', reason: 'CONFIG_VERSION_CONFLICT' });
      settings.enabled = enabled ?? settings.enabled;
      settings.blocking_enabled = isBlocking ?? settings.blocking_enabled;
      settings.endpoints = endpoints?.map(toEndpoint) ?? settings.endpoints;
      settings.config_version += 1;
      return ok(shown());
    },
    'GET prompt-audit/events': ({ query }) =>
      ok(
        toPage(
          events.toReversed().map(({ id, userId, decision }) => ({ id, user_id: userId, decision, full_prompt: '' })),
          parsePage(query),
        ),
      ),
  };
};
