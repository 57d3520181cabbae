import type { ModerationState } from '../../api/types.ts';
import { PageHead } from '../../parts/page-head.tsx';
import { Loaded } from '../../parts/states.tsx';
import { keyChanges } from '../../state/live.ts';
import { createResource } from '../../state/resource.ts';
import { usePolling, useResource } from '../../state/resource-hook.ts';
import { api } from '../../state/visitor.ts';
import { texts } from '../../texts.ts';
import { LiveFeed } from './feed.tsx';
import { KeyTable } from './keys.tsx';
import { Playground } from './playground.tsx';
import { Glance, UsageTable } from './usage.tsx';

const REFRESH_MS = 5000;

/** With the time of this machine at which it was taken, from which what is left of a rest is counted. */
const moderation = createResource(async (abort) => ({
  state: await api.get<ModerationState>('/api/moderation', abort),
  takenAt: Date.now(),
}));

/** The moderation gateway: a text tried by hand, the live feed, backend keys, breaker, queue and usage. */
export const ModerationView = () => {
  useResource(moderation, keyChanges.value);
  usePolling(moderation.load, moderation.isLoading, REFRESH_MS);
  return (
    <>
      <PageHead title={texts.moderation.title} intro={texts.moderation.intro} />
      <Loaded resource={moderation}>
        {({ state, takenAt }) => (
          <>
            <Glance state={state} />
            <Playground state={state} />
            <KeyTable state={state} takenAt={takenAt} onChange={() => void moderation.load()} />
            <UsageTable state={state} />
            <LiveFeed />
          </>
        )}
      </Loaded>
    </>
  );
};
