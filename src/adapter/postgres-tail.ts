import type { PlacedEvent } from '../agent/store/store.ts';
import type { createPostgresReads } from './postgres/reads.ts';

const PAGE = { limit: 500, limitBytes: 4 * 1024 * 1024 };
const AGAIN_AFTER_MS = 200;

export type TailNeeds = {
  readonly reads: Pick<ReturnType<typeof createPostgresReads>, 'events'>;
  /** The newest event there was when this server came. */
  readonly from: string;
  readonly isClosing: () => boolean;
};

/**
 * Events as all servers on one store keep them. Own ones are told by who kept them; this tells those of others in between,
 * each before a later own one settles.
 */
export const createTail = ({ reads, from, isClosing }: TailNeeds) => {
  let last = from;
  let hear: ((placed: readonly PlacedEvent[]) => void) | undefined;
  /** Tells what was kept after the last one that was told, up to one, or all of it. */
  const readOn = async (upTo: string | undefined): Promise<void> => {
    for (;;) {
      const page = await reads.events({ afterID: last, ...PAGE });
      const events = upTo === undefined ? page : page.filter(({ event }) => event.id <= upTo);
      if (events.length > 0) hear?.(events);
      last = events.at(-1)?.event.id ?? last;
      if (events.length < page.length || page.length === 0) return;
    }
  };
  /** What is not told now would be told after what came later. */
  const readOnForSure = async (upTo: string | undefined): Promise<void> => {
    while (!isClosing()) {
      try {
        return await readOn(upTo);
      } catch {
        await new Promise((resolve) => setTimeout(resolve, AGAIN_AFTER_MS));
      }
    }
  };
  return {
    listen(listener: (placed: readonly PlacedEvent[]) => void): void {
      hear = listener;
    },
    async onKept({
      after,
      placed,
    }: {
      readonly after: string;
      readonly placed: readonly PlacedEvent[];
    }): Promise<void> {
      if (after > last) await readOnForSure(after);
      last = placed.at(-1)?.event.id ?? last;
    },
    onLook: () => readOnForSure(undefined),
  };
};
