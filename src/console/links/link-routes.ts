import type { RequestBodies } from '../../core/http/request-bodies.ts';
import type { RouteTable } from '../../core/http/router.ts';
import type { Decisions } from '../approvals/decisions.ts';
import type { OpenApprovals } from '../approvals/open-approvals.ts';
import { isConsoleFault, NOT_DECIDED_TEXTS } from '../errors.ts';
import { ANSWER_REASON_CHARS, type ApprovalAnswer } from '../protocol.ts';
import type { SecretFilter } from '../services/secret-filter.ts';
import type { ApprovalLinks, LinkTarget } from './approval-links.ts';
import {
  askingPage,
  donePage,
  failedPage,
  isShownWhole,
  LINK_STYLE,
  type LinkPage,
  overPage,
  unknownPage,
} from './link-page.ts';

type LinkRoutesNeeds = {
  readonly links: ApprovalLinks;
  readonly approvals: Pick<OpenApprovals, 'find'>;
  readonly decisions: Pick<Decisions, 'decide' | 'known'>;
  readonly bodies: Pick<RequestBodies, 'readForm'>;
  /** SHA-256 as base64url. */
  readonly digest: (text: string) => string;
  readonly hide: SecretFilter;
};

/** Whose decision it was: a link has no name. */
export const LINK_DECIDER = 'approval link';

/** `/a/{token}`: one request, for someone without an account. Only a POST decides, as programs open links to preview them. */
export const createLinkRoutes = (needs: LinkRoutesNeeds): RouteTable => {
  const { links, approvals, decisions, bodies, digest, hide } = needs;
  const styleHash = `${digest(LINK_STYLE).replaceAll('-', '+').replaceAll('_', '/')}=`;
  const policy = `default-src 'none'; style-src 'sha256-${styleHash}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`;
  const send = ({ status, html }: LinkPage): Response =>
    new Response(hide(html), {
      status,
      headers: {
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': policy,
        'x-robots-tag': 'noindex, nofollow',
      },
    });
  const pageOf = (target: LinkTarget): LinkPage => {
    if (target.kind === 'open') return askingPage(target.approval);
    return target.kind === 'over' ? overPage(decisions.known(target.id)) : unknownPage();
  };
  const failureOf = (error: unknown): LinkPage => {
    if (!isConsoleFault(error)) throw error;
    const { detail } = error;
    if (detail.kind === 'not-decided')
      return detail.decided === undefined ? failedPage(409, NOT_DECIDED_TEXTS[detail.code]) : overPage(detail.decided);
    if (detail.kind === 'service-down' || detail.kind === 'service-refused')
      return failedPage(
        502,
        'The agent server does not take it at the moment. The request still waits: try again soon.',
      );
    throw error;
  };
  return {
    '/a/:token': {
      GET: async (_request, { token = '' }) => send(pageOf(await links.read(token, approvals.find))),
      async POST(request, { token = '' }) {
        // The token first: without one, nothing is read of a body that anyone can send.
        const target = await links.read(token, approvals.find);
        if (target.kind !== 'open') return send(pageOf(target));
        const form = await bodies.readForm(request);
        const { id, argumentsHash } = target.approval;
        const reply = form.get('decision');
        const message = (form.get('reason') ?? '').trim().slice(0, ANSWER_REASON_CHARS);
        if (reply === 'once' && !isShownWhole(target.approval))
          return send({ ...askingPage(target.approval), status: 400 });
        if (reply !== 'once' && reply !== 'reject')
          return send(failedPage(400, 'Choose Allow once or Reject: go back and press one of the two buttons.'));
        try {
          const verdict: ApprovalAnswer = { reply, argumentsHash, ...(message === '' ? {} : { message }) };
          return send(donePage(await decisions.decide(id, verdict, LINK_DECIDER, request.signal)));
        } catch (error) {
          return send(failureOf(error));
        }
      },
    },
  };
};
