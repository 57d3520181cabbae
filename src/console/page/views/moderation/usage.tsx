import type { ModerationState } from '../../api/types.ts';
import { durationText } from '../../format/dates.ts';
import { countText } from '../../format/numbers.ts';
import { Badge } from '../../parts/badge.tsx';
import { Fact } from '../../parts/fact.tsx';
import { SafeLine } from '../../parts/safe-text.tsx';
import { TableHead } from '../../parts/table-head.tsx';
import type { Tone } from '../../state/toasts.ts';
import { texts } from '../../texts.ts';

const { columns, ...words } = texts.moderation.usage;

const BREAKER_TONES: Readonly<Record<ModerationState['breaker']['state'], Tone>> = {
  closed: 'good',
  'half-open': 'warning',
  open: 'bad',
};

/** Whether there can be verdicts: with all keys at rest there are none, however well the rest looks. */
const Ready = ({ state: { ready } }: { readonly state: ModerationState }) => {
  const reasons = ready?.reasons;
  if (reasons === undefined) return null;
  if (reasons.length === 0)
    return (
      <Fact name={words.ready}>
        <Badge tone="good">{words.isReady}</Badge>
      </Fact>
    );
  return (
    <Fact name={words.ready}>
      <Badge tone="bad">{words.notReady}</Badge>
      <span class="muted">
        {' '}
        <SafeLine text={reasons.join('; ')} limit={300} />
      </span>
    </Fact>
  );
};

/** The gateway at a glance: readiness, breaker, calls, cache. */
export const Glance = ({ state }: { readonly state: ModerationState }) => {
  const { breaker, calls, cache, version } = state;
  return (
    <dl class="glance">
      <Ready state={state} />
      <Fact name={words.breaker}>
        <Badge tone={BREAKER_TONES[breaker.state]}>{words.breakerStates[breaker.state]}</Badge>
        {breaker.rests_ms > 0 ? <span class="muted"> {durationText(breaker.rests_ms)}</span> : null}
      </Fact>
      <Fact name={words.calls}>{words.ofLimit(countText(calls.running), countText(calls.limit))}</Fact>
      <Fact name={words.waiting}>{countText(calls.waiting)}</Fact>
      <Fact name={words.cache}>{words.ofLimit(countText(cache.verdicts), countText(cache.limit))}</Fact>
      <Fact name={words.version}>
        <SafeLine text={version} limit={40} />
      </Fact>
    </dl>
  );
};

/** Tokens and unusable replies by backend model, since the gateway's start. */
export const UsageTable = ({ state: { tokens, unusable } }: { readonly state: ModerationState }) => {
  const models = [...new Set([...tokens, ...unusable].map(({ model }) => model))].sort();
  return (
    <section class="card" aria-labelledby="usage-title">
      <h2 id="usage-title">{words.title}</h2>
      {models.length === 0 ? (
        <p class="muted">{words.none}</p>
      ) : (
        <table class="table stacked">
          <TableHead
            columns={[columns.model, [columns.prompt, 'number'], [columns.completion, 'number'], columns.unusable]}
          />
          <tbody>
            {models.map((model) => {
              const used = tokens.find((one) => one.model === model);
              const bad = unusable.filter((one) => one.model === model);
              return (
                <tr key={model}>
                  <td data-label={columns.model}>
                    <SafeLine text={model} limit={100} />
                  </td>
                  <td data-label={columns.prompt} class="number">
                    {countText(used?.prompt ?? 0)}
                  </td>
                  <td data-label={columns.completion} class="number">
                    {countText(used?.completion ?? 0)}
                  </td>
                  <td data-label={columns.unusable}>
                    {bad.length === 0 ? (
                      '–'
                    ) : (
                      <SafeLine text={bad.map((one) => `${one.reason} ${countText(one.count)}`).join(', ')} />
                    )}
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      )}
    </section>
  );
};
