import { useSignal } from '@preact/signals';
import type { ShownRule } from '../../../protocol.ts';
import { plainLine } from '../../format/hostile.ts';
import { Badge } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { SafeLine } from '../../parts/safe-text.tsx';
import { showFailure } from '../../parts/states.tsx';
import { TableHead } from '../../parts/table-head.tsx';
import { Time } from '../../parts/time.tsx';
import { standingRules } from '../../state/approvals.ts';
import { revokeRule } from '../../state/standing-rules.ts';
import { showToast } from '../../state/toasts.ts';
import { mayDecide } from '../../state/visitor.ts';
import { texts } from '../../texts.ts';

const { columns, ...words } = texts.approvals.standing;

const Revoke = ({ rule }: { readonly rule: ShownRule }) => {
  const isBusy = useSignal(false);
  const revoke = async (): Promise<void> => {
    isBusy.value = true;
    try {
      await revokeRule(rule);
      showToast(words.revoked, 'plain');
    } catch (error) {
      showFailure(error);
    }
    isBusy.value = false;
  };
  const label = words.revokeLabel(plainLine(rule.covers.join(', '), 120));
  return (
    <Button kind="danger" isSmall isBusy={isBusy.value} label={label} onClick={() => void revoke()}>
      {words.revoke}
    </Button>
  );
};

/** What runs without asking at the moment: who allowed it, since when, until when, and how often it was used. */
export const StandingTable = () => {
  const rules = standingRules.value;
  if (rules.length === 0) return null;
  return (
    <section aria-labelledby="standing-title">
      <h2 id="standing-title">
        {words.title} <Badge tone="bad">{words.active(rules.length)}</Badge>
      </h2>
      <table class="table stacked">
        <TableHead columns={Object.values(columns)} />
        <tbody>
          {rules.map((rule) => (
            <tr key={rule.id}>
              <td data-label={columns.what}>
                <SafeLine text={rule.covers.join(', ')} limit={500} />
              </td>
              <td data-label={columns.session}>
                <a href={`/sessions/${rule.agent}/${encodeURIComponent(rule.sessionID)}`}>{words.show}</a>
              </td>
              <td data-label={columns.who}>{plainLine(rule.by ?? texts.approvals.bySomebody, 60)}</td>
              <td data-label={columns.since}>
                <Time at={rule.since} />
              </td>
              <td data-label={columns.until}>
                <Time at={rule.until} />
              </td>
              <td data-label={columns.uses}>{rule.uses}</td>
              <td data-label={columns.action}>{mayDecide.value ? <Revoke rule={rule} /> : null}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
};
