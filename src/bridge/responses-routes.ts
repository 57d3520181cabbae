import type { Clock } from '../core/clock.ts';
import { Fault } from '../core/fault.ts';
import { json } from '../core/http/json-response.ts';
import type { RouteTable } from '../core/http/router.ts';
import type { Agent } from './agent/types.ts';
import type { Conversations, Owner } from './conversation/types.ts';
import { deletedResponse } from './openai/responses/response.ts';
import { storedResponse } from './openai/responses/stored.ts';

export type ResponsesRoutesNeeds = {
  readonly enter: (request: Request) => Owner;
  readonly conversations: Conversations;
  readonly agent: Agent;
  readonly clock: Clock;
};

const NO_RESPONSE = new Fault({ kind: 'not-found', hint: 'No such response, or not one of this key' });

/** `GET` and `DELETE /v1/responses/{id}`: a response lives in the agent's session, and is made again from it. */
export const storedResponseRoutes = ({ enter, conversations, agent, clock }: ResponsesRoutesNeeds): RouteTable => ({
  '/v1/responses/:id': {
    async GET(request, { id = '' }) {
      const owner = enter(request);
      const place = await conversations.remembered(id, owner, request.signal);
      if (place === undefined) throw NO_RESPONSE;
      const messages = await agent.messages(place.sessionID, request.signal);
      const nowSeconds = Math.floor(clock.now() / 1000);
      const response = storedResponse(messages, { responseID: id, promptID: place.promptID, nowSeconds });
      if (response === undefined) throw NO_RESPONSE;
      return json(200, response);
    },
    async DELETE(request, { id = '' }) {
      const owner = enter(request);
      if (!(await conversations.forgetResponse(id, owner, request.signal))) throw NO_RESPONSE;
      return json(200, deletedResponse(id));
    },
  },
});
