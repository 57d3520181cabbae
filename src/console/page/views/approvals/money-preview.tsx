import type { MoneyPreview } from '../../api/types.ts';
import { moneyText } from '../../format/numbers.ts';
import { Icon } from '../../parts/icon.tsx';
import { SafeLine } from '../../parts/safe-text.tsx';
import { Time } from '../../parts/time.tsx';
import { now } from '../../state/clock.ts';
import { texts } from '../../texts.ts';

const words = texts.approvals.money;

/** What a recharge would do, as a person reads it: who, how much, the balance before and after. */
export const MoneyCard = ({ money }: { readonly money: MoneyPreview }) => {
  const { user, amount, before, after, currency, expires } = money;
  const isExpired = expires !== undefined && expires <= now.value;
  return (
    <section class="money" aria-label={words.label}>
      <div class="money-who">
        <span class="label">{words.user}</span>
        <strong>
          <SafeLine text={user} />
        </strong>
      </div>
      <div class="money-sum">
        <span class="label">{words.adds}</span>
        <strong class="amount">{moneyText(amount, currency, true)}</strong>
      </div>
      <div class="money-change">
        <div>
          <span class="label">{words.before}</span>
          <span class="amount">{moneyText(before, currency)}</span>
        </div>
        <Icon name="arrow" />
        <div>
          <span class="label">{words.after}</span>
          <strong class="amount">{moneyText(after, currency)}</strong>
        </div>
      </div>
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
    </section>
  );
};
