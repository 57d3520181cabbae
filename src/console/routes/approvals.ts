import * as v from 'valibot';
import type { RouteTable } from '../../core/http/router.ts';
import type { Decisions } from '../approvals/decisions.ts';
import type { OpenApprovals } from '../approvals/open-approvals.ts';
import type { Followers } from '../live/followers.ts';
import { type ApiContext, agentIn, changing, parseGiven, pathSegment, reading } from './context.ts';

type ApprovalRoutesNeeds = ApiContext & {
  readonly approvals: Pick<OpenApprovals, 'snapshot'>;
  readonly decisions: Pick<Decisions, 'decide' | 'recent' | 'outcome' | 'revoke'>;
  readonly followers: Pick<Followers, 'follow'>;
  readonly agents: readonly unknown[];
  readonly notConfigured: string;
};

const Answer = v.object({
  reply: v.picklist(['once', 'always', 'reject']),
  message: v.optional(v.pipe(v.string(), v.trim(), v.maxLength(4000))),
  argumentsHash: v.pipe(v.string(), v.minLength(1), v.maxLength(128)),
});

/** What waits for a person, what was decided, and the events of the page. */
export const createApprovalRoutes = (needs: ApprovalRoutesNeeds): RouteTable => {
  const { access, bodies, reply, approvals, decisions, followers, agents, notConfigured } = needs;
  return {
    '/api/approvals': {
      GET: reading(needs, 'viewer', async ({ signal }) => {
        const { decided, unread } = await decisions.recent(signal);
        // After the agent servers were asked: the list may have changed meanwhile.
        return reply.json({ ...approvals.snapshot(), decided, unread });
      }),
    },
    '/api/approvals/:agent/:id': {
      POST: changing(needs, 'approver', async (request, { agent = '', id = '' }, { name }) => {
        agentIn(agents, agent, notConfigured);
        const { reply: answer, message, argumentsHash } = parseGiven(Answer, await bodies.readJson(request));
        const given = { reply: answer, argumentsHash, ...(message === undefined ? {} : { message }) };
        return reply.json(await decisions.decide(pathSegment(id), given, name, request.signal));
      }),
    },
    '/api/approvals/:agent/:id/outcome': {
      GET: reading(needs, 'viewer', async ({ signal }, { agent = '', id = '' }) => {
        agentIn(agents, agent, notConfigured);
        return reply.json(await decisions.outcome(Number(agent), pathSegment(id), signal));
      }),
    },
    '/api/standing/:agent/:id': {
      DELETE: changing(needs, 'approver', async ({ signal }, { agent = '', id = '' }) => {
        agentIn(agents, agent, notConfigured);
        await decisions.revoke(Number(agent), pathSegment(id), signal);
        return new Response(null, { status: 204 });
      }),
    },
    '/api/events': {
      GET: reading(needs, 'viewer', (request, _params, { name, session }) =>
        followers.follow(name, async () => {
          const now = await access.visitorOf(request).catch(() => undefined);
          return now?.session === session;
        }),
      ),
    },
  };
};
