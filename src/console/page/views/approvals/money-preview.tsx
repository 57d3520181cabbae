import type { Money } from '../../../protocol.ts';
import { moneyText } from '../../format/numbers.ts';
import { Icon } from '../../parts/icon.tsx';
import { SafeLine, SafeText } from '../../parts/safe-text.tsx';
import { Time } from '../../parts/time.tsx';
import { now } from '../../state/clock.ts';
import { texts } from '../../texts.ts';

const words = texts.approvals.money;

/** Who, how much, and the balance before and after: in large, as that is what a person decides about. */
const Figures = ({ user, amount, before, after }: Money) => (
  <>
    {user === undefined ? null : (
      <div class="money-who">
        <span class="label">{words.user}</span>
        <strong>
          <SafeLine text={user} />
        </strong>
      </div>
    )}
    {amount === undefined ? null : (
      <div class="money-sum">
        <span class="label">{words.adds}</span>
        <strong class="amount">{moneyText(amount, true)}</strong>
      </div>
    )}
    {before === undefined || after === undefined ? null : (
      <div class="money-change">
        <div>
          <span class="label">{words.before}</span>
          <span class="amount">{moneyText(before)}</span>
        </div>
        <Icon name="arrow" />
        <div>
          <span class="label">{words.after}</span>
          <strong class="amount">{moneyText(after)}</strong>
        </div>
      </div>
    )}
  </>
);

/** What a recharge would do, as a person reads it, with the warnings of the preview that belongs to the call. */
export const MoneyCard = ({ money }: { readonly money: Money }) => {
  const { summary, warnings, isKnown, amount, expires, source } = money;
  const isExpired = expires !== undefined && expires <= now.value;
  return (
    <div class={`money${isKnown ? '' : ' unknown'}`}>
      <Figures {...money} />
      {amount === undefined || !isKnown ? (
        <div class="money-text">
          <SafeText text={summary} />
        </div>
      ) : null}
      {warnings.map((warning) => (
        <p key={warning} class="money-warning">
          <Icon name="warning" /> <SafeLine text={warning} limit={1000} />
        </p>
      ))}
      {expires === undefined ? null : (
        <p class={isExpired ? 'bad-text' : 'muted'}>
          {isExpired ? (
            words.expired
          ) : (
            <>
              {words.expires} <Time at={expires} />
            </>
          )}
        </p>
      )}
      <p class="muted">
        <SafeLine text={source} />
      </p>
    </div>
  );
};
