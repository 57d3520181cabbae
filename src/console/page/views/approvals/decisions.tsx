import { Badge } from '../../parts/badge.tsx';
import { SafeLine } from '../../parts/safe-text.tsx';
import { TableHead } from '../../parts/table-head.tsx';
import { Time } from '../../parts/time.tsx';
import { UnreadAgents } from '../../parts/unread-agents.tsx';
import { decisions, unreadAgents } from '../../state/approvals.ts';
import { texts } from '../../texts.ts';
import { deciderOf, toneOfReply } from './outcome.ts';

const { columns, ...words } = texts.approvals;

/** Who decided what, and when, the newest first. */
export const DecisionTable = () => (
  <section aria-labelledby="decisions-title">
    <h2 id="decisions-title">{words.decisionsTitle}</h2>
    <UnreadAgents agents={unreadAgents.value ?? []} sentence={words.decisionsUnread} />
    {decisions.value.length === 0 ? (
      <p class="muted">{unreadAgents.value?.length === 0 ? words.decisionsEmpty : ''}</p>
    ) : (
      <table class="table stacked">
        <TableHead columns={[columns.when, columns.what, columns.tool, columns.who, columns.reason]} />
        <tbody>
          {decisions.value.map((decision) => (
            <tr key={decision.id}>
              <td data-label={columns.when}>
                <Time at={decision.at} />
              </td>
              <td data-label={columns.what}>
                <Badge tone={toneOfReply(decision.reply)}>
                  {decision.reply === 'always' && decision.through !== undefined
                    ? words.underRule
                    : words.replies[decision.reply]}
                </Badge>
                {decision.covers === undefined || decision.covers.length === 0 ? null : (
                  <span class="muted">
                    {' '}
                    <SafeLine text={decision.covers.join(', ')} />
                  </span>
                )}
              </td>
              <td data-label={columns.tool}>
                <SafeLine text={decision.permission} limit={120} />
              </td>
              <td data-label={columns.who}>{deciderOf(decision)}</td>
              <td data-label={columns.reason} class={decision.message === undefined ? 'nothing' : ''}>
                {decision.message === undefined ? words.none : <SafeLine text={decision.message} limit={500} />}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    )}
  </section>
);
