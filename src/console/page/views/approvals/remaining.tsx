import { durationText } from '../../format/dates.ts';
import { Icon } from '../../parts/icon.tsx';
import { now } from '../../state/clock.ts';
import { texts } from '../../texts.ts';

const SOON_MS = 60_000;
/** How long a request waits where the agent server has no other setting. */
const USUAL_MS = 300_000;

/** How long a request still waits, as a text and a bar that empties. */
export const Remaining = ({ asked, ends }: { readonly asked: number | undefined; readonly ends: number }) => {
  const leftMs = Math.max(0, ends - now.value);
  const wholeMs = Math.max(1, ends - (asked ?? ends - USUAL_MS));
  const text = leftMs === 0 ? texts.approvals.timeOver : texts.approvals.remaining(durationText(leftMs));
  return (
    <div class={`remaining${leftMs < SOON_MS ? ' soon' : ''}`}>
      <Icon name="clock" />
      <span>{text}</span>
      <progress
        aria-label={texts.approvals.remainingLabel}
        aria-valuetext={text}
        max={wholeMs}
        value={Math.min(leftMs, wholeMs)}
      />
    </div>
  );
};
