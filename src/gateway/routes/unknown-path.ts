/** What the 404 of a path that is none of the gateway's says: the usual mistake that led to it, if it is one. */
export const hintForPath = (path: string): string => {
  if (path.startsWith('/v1/v1'))
    return 'The path holds /v1 twice: the base URL must not end in /v1, the client adds it';
  if (path.startsWith('//')) return 'The path begins with two slashes: the base URL must not end in one';
  if (['/moderations', '/models', '/chat/completions'].includes(path))
    return 'The path lacks /v1: for this client the base URL must end in /v1';
  return 'No such path. This service answers POST /v1/moderations, POST /v1/chat/completions (guard models), POST /beta/litellm_basic_guardrail_api, POST /integrations/portkey and GET /v1/models, /health, /ready, /metrics, /openapi.json';
};
