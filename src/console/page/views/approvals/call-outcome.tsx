import { useMemo } from 'preact/hooks';
import type { CallOutcome } from '../../../protocol.ts';
import { Badge } from '../../parts/badge.tsx';
import { SafeLine } from '../../parts/safe-text.tsx';
import { failureText } from '../../parts/states.tsx';
import { createResource } from '../../state/resource.ts';
import { usePolling, useResource } from '../../state/resource-hook.ts';
import type { Tone } from '../../state/toasts.ts';
import { api } from '../../state/visitor.ts';
import { texts } from '../../texts.ts';

const ASK_EVERY_MS = 1500;
const TONES: { readonly [State in CallOutcome['state']]: Tone } = {
  pending: 'plain',
  done: 'good',
  failed: 'bad',
  'in-doubt': 'warning',
  unknown: 'plain',
};

/** What became of a call that was allowed. It is asked for until the call has ended. */
export const CallOutcomeLine = ({ agent, id }: { readonly agent: number; readonly id: string }) => {
  const path = `/api/approvals/${agent}/${encodeURIComponent(id)}/outcome`;
  const outcome = useMemo(() => createResource((abort) => api.get<CallOutcome>(path, abort)), [path]);
  useResource(outcome);
  const { state, text } = outcome.value.value ?? { state: 'pending' };
  const hasEnded = outcome.value.value !== undefined && state !== 'pending';
  usePolling(outcome.load, outcome.isLoading, hasEnded ? undefined : ASK_EVERY_MS);
  const failure = outcome.failure.value;
  if (failure !== undefined) return <span class="bad-text">{failureText(failure)}</span>;
  return (
    <span>
      <Badge tone={TONES[state]}>{texts.approvals.callStates[state]}</Badge>{' '}
      {text === undefined ? null : <SafeLine text={text} limit={500} />}
    </span>
  );
};
