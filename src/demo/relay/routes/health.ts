import { jsonResponse } from '../../../core/http/response.ts';
import { htmlPage, internalError, ok } from '../envelope.ts';
import { SECRETS } from '../records/secrets.ts';
import type { RelayWorld } from '../world.ts';
import type { RelayTable } from './table.ts';

/** The response of Go's router for an unknown path. */
export const unknownPath = (): Response =>
  new Response('404 page not found', { status: 404, headers: { 'content-type': 'text/plain' } });

const health = ({ settings }: RelayWorld): Response => {
  switch (settings.health) {
    case 'ok':
      return jsonResponse(200, { status: 'ok' });
    case 'html':
      return htmlPage(200, 'Relay');
    case 'json-200-not-ok':
      return jsonResponse(200, { status: 'starting' });
    case 'down-404':
      return unknownPath();
  }
};

/** What needs no key. Before it is installed the platform has no health, only its set-up. */
export const openTable = (world: RelayWorld): RelayTable => ({
  'GET /health': () => health(world),
  'GET /api/v1/settings/public': () =>
    world.settings.isDatabaseDown
      ? internalError()
      : ok({ site_name: 'Relay', version: world.settings.version, turnstile_site_key: SECRETS.sessionToken }),
  'GET /setup/status': () =>
    ok(
      world.settings.health === 'down-404'
        ? { needs_setup: true, step: 'welcome' }
        : { needs_setup: false, step: 'completed' },
    ),
});
