import { plainLine } from '../../format/hostile.ts';
import { Button } from '../../parts/button.tsx';
import { Icon } from '../../parts/icon.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { agentName } from '../../parts/service-name.ts';
import { Empty, Failure, Loading } from '../../parts/states.tsx';
import { awayAgents, hideEnded, isOpen, loadApprovals, shownApprovals, waitingCount } from '../../state/approvals.ts';
import { askToNotify, notifying } from '../../state/attention.ts';
import { agentServices } from '../../state/live.ts';
import { createResource } from '../../state/resource.ts';
import { useResource } from '../../state/resource-hook.ts';
import { texts } from '../../texts.ts';
import { ApprovalCard } from './card.tsx';
import { DecisionTable } from './decisions.tsx';
import { StandingTable } from './standing.tsx';

const words = texts.approvals;

/** The list comes with the events; this call also brings the decisions that are kept, and says why when it cannot. */
const approvals = createResource(async (abort) => {
  await loadApprovals(abort);
  return true;
});

const Notifying = () => {
  const state = notifying.value;
  if (state === 'impossible') return null;
  if (state === 'askable')
    return (
      <Button isSmall onClick={() => void askToNotify()}>
        <Icon name="bell" /> {words.notify}
      </Button>
    );
  return (
    <span class="muted">
      <Icon name="bell" /> {state === 'on' ? words.notifyOn : words.notifyRefused}
    </span>
  );
};

/** Which agent servers are not seen, and why: what waits there is missing below. */
const AwayAgents = () => (
  <>
    {awayAgents.value.map((agent) => {
      const { address = '', reason = '' } = agentServices.value[agent] ?? {};
      return (
        <p key={agent} class="notice bad" role="alert">
          {words.agentUnseen(agentName(agent, address), plainLine(reason, 200))}
        </p>
      );
    })}
  </>
);

const Requests = () => {
  const shown = shownApprovals.value;
  if (shown === undefined) return approvals.failure.value === undefined ? <Loading /> : null;
  // What waits at a server that was not read is not known.
  if (shown.length === 0 && awayAgents.value.length > 0) return null;
  if (shown.length === 0) return <Empty title={words.empty} hint={words.emptyHint} />;
  return (
    <>
      {shown.map((one) => (
        <ApprovalCard key={one.approval.id} shown={one} />
      ))}
      {shown.some((one) => !isOpen(one)) ? (
        <p>
          <Button kind="quiet" isSmall onClick={() => hideEnded()}>
            {words.hideAll}
          </Button>
        </p>
      ) : null}
    </>
  );
};

/** The first page: what waits for a decision, and what was decided. */
export const ApprovalsView = () => {
  useResource(approvals);
  const failure = approvals.failure.value;
  return (
    <>
      <PageHead title={words.title} intro={words.intro}>
        <Notifying />
      </PageHead>
      <p class="visually-hidden" role="status">
        {awayAgents.value.length > 0 && waitingCount.value === 0 ? '' : words.waitingAnnouncement(waitingCount.value)}
      </p>
      {failure === undefined ? null : <Failure failure={failure} onRetry={() => void approvals.load()} />}
      <div class="stack">
        <AwayAgents />
        <Requests />
      </div>
      <StandingTable />
      <DecisionTable />
    </>
  );
};
