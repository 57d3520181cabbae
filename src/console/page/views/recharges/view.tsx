import type { JournalLists, RechargeRow } from '../../../protocol.ts';
import { plainLine } from '../../format/hostile.ts';
import { moneyText } from '../../format/numbers.ts';
import { Badge } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { Icon } from '../../parts/icon.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { SafeLine } from '../../parts/safe-text.tsx';
import { Empty, Loaded } from '../../parts/states.tsx';
import { TableHead } from '../../parts/table-head.tsx';
import { Time } from '../../parts/time.tsx';
import { createResource } from '../../state/resource.ts';
import { useResource } from '../../state/resource-hook.ts';
import { api } from '../../state/visitor.ts';
import { texts } from '../../texts.ts';

const { columns, ...words } = texts.recharges;

const recharges = createResource((abort) => api.get<JournalLists>('/api/recharges', abort));

const Doubt = ({ entry }: { readonly entry: RechargeRow }) => (
  <article class="card doubt">
    <header class="doubt-head">
      <strong class="amount">{moneyText(entry.amount, true)}</strong>
      <span>
        <span class="label">{columns.user}</span> <SafeLine text={entry.user} limit={120} />
      </span>
      <span>
        <span class="label">{columns.balance}</span> <span class="amount">{moneyText(entry.before)}</span>
      </span>
      <Time at={entry.at} />
      <code>
        <SafeLine text={entry.reference} limit={80} />
      </code>
    </header>
    {entry.reason === undefined ? null : (
      <p>
        <SafeLine text={entry.reason} limit={1000} />
      </p>
    )}
    {entry.check === undefined || entry.check.length === 0 ? null : (
      <div>
        <h3 class="label">{words.check}</h3>
        <ul class="checks">
          {entry.check.map((sentence) => (
            <li key={sentence}>
              <SafeLine text={sentence} limit={1000} />
            </li>
          ))}
        </ul>
      </div>
    )}
  </article>
);

type TableProps = { readonly title: string; readonly none: string; readonly entries: readonly RechargeRow[] };

const balanceText = ({ before, after }: RechargeRow): string =>
  after === undefined ? moneyText(before) : words.balance(moneyText(before), moneyText(after));

const RechargeTable = ({ title, none, entries }: TableProps) => {
  const hasReasons = entries.some(({ reason }) => reason !== undefined);
  return (
    <section>
      <h2>
        {title} <Badge>{entries.length}</Badge>
      </h2>
      {entries.length === 0 ? (
        <p class="muted">{none}</p>
      ) : (
        <table class="table stacked">
          <TableHead
            columns={[
              ...[columns.when, columns.user],
              [columns.amount, 'number'],
              [columns.change, 'number'],
              ...(hasReasons ? [columns.reason] : []),
              columns.reference,
            ]}
          />
          <tbody>
            {entries.map((entry) => (
              <tr key={entry.reference}>
                <td data-label={columns.when}>
                  <Time at={entry.at} />
                </td>
                <td data-label={columns.user} class="reference">
                  <SafeLine text={entry.user} limit={120} />
                </td>
                <td data-label={columns.amount} class="number">
                  {moneyText(entry.amount, true)}
                </td>
                <td data-label={columns.change} class="number">
                  {balanceText(entry)}
                </td>
                {hasReasons ? (
                  <td data-label={columns.reason}>
                    <SafeLine text={entry.reason ?? '–'} />
                  </td>
                ) : null}
                <td data-label={columns.reference} class="reference">
                  <code>
                    <SafeLine text={entry.reference} limit={80} />
                  </code>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
};

const Lists = ({ inDoubt, refused, verified, leftOut, missingFile }: JournalLists) =>
  inDoubt.length + refused.length + verified.length === 0 ? (
    <Empty
      title={missingFile === undefined ? words.empty : words.noFile(plainLine(missingFile, 120))}
      hint={missingFile === undefined ? words.emptyHint : words.noFileHint}
    />
  ) : (
    <>
      <section>
        <h2>
          {words.inDoubt} <Badge tone={inDoubt.length > 0 ? 'warning' : 'plain'}>{inDoubt.length}</Badge>
        </h2>
        <p class="muted">{inDoubt.length > 0 ? words.inDoubtHint : words.noneInDoubt}</p>
        <div class="stack">
          {inDoubt.map((entry) => (
            <Doubt key={entry.reference} entry={entry} />
          ))}
        </div>
      </section>
      <RechargeTable title={words.refused} none={words.noneRefused} entries={refused} />
      <RechargeTable title={words.verified} none={words.noneVerified} entries={verified} />
      {leftOut > 0 && <p class="muted">{words.leftOut(leftOut)}</p>}
    </>
  );

/** The journal's recharges: those in doubt first, with what to check. */
export const RechargesView = () => {
  useResource(recharges);
  return (
    <>
      <PageHead title={words.title} intro={words.intro}>
        <Button isSmall isBusy={recharges.isLoading.value} onClick={() => void recharges.load()}>
          <Icon name="refresh" /> {texts.states.refresh}
        </Button>
      </PageHead>
      <Loaded resource={recharges}>{(lists) => <Lists {...lists} />}</Loaded>
    </>
  );
};
