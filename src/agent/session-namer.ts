import type { Clock } from '../core/clock.ts';
import type { Voices } from './agents/catalog.ts';
import { type TitleNeeds, titleFor } from './agents/title.ts';
import type { UserMessage } from './message.ts';
import { isDefaultTitle, type Sessions } from './session/sessions.ts';
import type { Store } from './store/store.ts';

export type NamerNeeds = TitleNeeds & {
  readonly clock: Clock;
  readonly store: Pick<Store, 'message'>;
  readonly sessions: Pick<Sessions, 'update'>;
  readonly voices: Pick<Voices, 'titlerFor'>;
  /** Aborts when the server stops: nobody waits for a title any more then. */
  readonly ending: AbortSignal;
};

const TITLE_LIMIT_MS = 30_000;

/** Gives a session that has still its first title one that a model makes of a prompt. Rejects when there is none to be had. */
export const createSessionNamer =
  (needs: NamerNeeds) =>
  async ({ id, sessionID, model: ref }: UserMessage): Promise<void> => {
    const { clock, store, sessions, voices, ending } = needs;
    const titler = voices.titlerFor(ref);
    const parts = (await store.message(sessionID, id))?.parts ?? [];
    const asked = parts
      .map((part) => (part.type === 'text' ? part.text : ''))
      .join('\n')
      .trim();
    if (titler === undefined || asked === '') return;
    const controller = new AbortController();
    const leave = () => controller.abort(new Error('Titles take no longer'));
    const cancel = clock.after(TITLE_LIMIT_MS, leave);
    ending.addEventListener('abort', leave, { once: true });
    try {
      const title = await titleFor(needs, { titler, asked, sessionID }, controller.signal);
      if (title === undefined) return;
      await sessions.update(sessionID, (now) => (isDefaultTitle(now.title) ? { ...now, title } : now));
    } finally {
      cancel();
      ending.removeEventListener('abort', leave);
    }
  };
