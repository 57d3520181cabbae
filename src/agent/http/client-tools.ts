import { jsonResponse } from '../../core/http/response.ts';
import type { RouteTable } from '../../core/http/router.ts';
import { ClientToolResultsBody } from '../protocol/tool-schemas.ts';
import type { RouteContext } from './context.ts';

/** Takes the results of tools that run at clients, an addition to OpenCode's API. The turn goes on in the background. */
export const clientToolRoutes = ({
  sessions,
  runs,
  spanOf,
  readBody,
  takeClientResults,
  onBug,
}: RouteContext): RouteTable => ({
  '/session/:id/client-tool-results': {
    POST: (request, { id = '' }) =>
      runs.whileAccepting(async () => {
        await sessions.get(id);
        const { resumed, ...taken } = await takeClientResults(id, await readBody(request, ClientToolResultsBody));
        if (resumed !== undefined) runs.run(resumed.session, resumed.user, { span: spanOf(request) }).catch(onBug);
        return jsonResponse(200, taken);
      }),
  },
});
