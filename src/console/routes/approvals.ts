import * as v from 'valibot';
import type { RouteTable } from '../../core/http/router.ts';
import type { Decisions } from '../approvals/decisions.ts';
import type { OpenApprovals } from '../approvals/open-approvals.ts';
import type { Followers } from '../live/followers.ts';
import { ANSWER_REASON_CHARS, ANSWERS } from '../protocol.ts';
import { type ApiContext, agentIn, changing, parseGiven, pathSegment, reading } from './context.ts';

type ApprovalParts = {
  readonly approvals: Pick<OpenApprovals, 'snapshot'>;
  readonly decisions: Pick<Decisions, 'decide' | 'recent' | 'outcome' | 'revoke'>;
  readonly followers: Pick<Followers, 'follow'>;
};

const Answer = v.object({
  reply: v.picklist(ANSWERS),
  message: v.optional(v.pipe(v.string(), v.trim(), v.maxLength(ANSWER_REASON_CHARS))),
  argumentsHash: v.pipe(v.string(), v.minLength(1), v.maxLength(128)),
});

/** What waits for a person, what was decided, and the events of the page. */
export const createApprovalRoutes = (
  context: ApiContext,
  { approvals, decisions, followers }: ApprovalParts,
): RouteTable => {
  const { access, bodies, reply } = context;
  return {
    '/api/approvals': {
      GET: reading(context, 'viewer', async ({ signal }) => {
        const { decided, unread } = await decisions.recent(signal);
        // After the agent servers were asked: the list may have changed meanwhile.
        return reply.json({ ...approvals.snapshot(), decided, unread });
      }),
    },
    '/api/approvals/:agent/:id': {
      POST: changing(context, 'approver', async (request, { agent = '', id = '' }, { name }) => {
        agentIn(context, agent);
        const { reply: answer, message, argumentsHash } = parseGiven(Answer, await bodies.readJson(request));
        const given = { reply: answer, argumentsHash, ...(message === undefined ? {} : { message }) };
        return reply.json(await decisions.decide(pathSegment(id), given, name, request.signal));
      }),
    },
    '/api/approvals/:agent/:id/outcome': {
      GET: reading(context, 'viewer', async ({ signal }, { agent = '', id = '' }) => {
        agentIn(context, agent);
        return reply.json(await decisions.outcome(Number(agent), pathSegment(id), signal));
      }),
    },
    '/api/standing/:agent/:id': {
      DELETE: changing(context, 'approver', async ({ signal }, { agent = '', id = '' }) => {
        agentIn(context, agent);
        await decisions.revoke(Number(agent), pathSegment(id), signal);
        return new Response(null, { status: 204 });
      }),
    },
    '/api/events': {
      GET: reading(context, 'viewer', (request, _params, { name, session }) =>
        followers.follow(name, async () => {
          const now = await access.visitorOf(request).catch(() => undefined);
          return now?.session === session;
        }),
      ),
    },
  };
};
