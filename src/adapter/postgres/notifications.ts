import { isRecord } from '../../core/json.ts';
import type { PostgresLink, Sql } from './connection.ts';

const KINDS = ['events', 'ticket', 'end', 'answer', 'beat'] as const;

/** What servers tell each other at once. Whoever misses it finds it in the database at the next beat. */
export type News = {
  readonly kind: (typeof KINDS)[number];
  /** The seat of who tells. */
  readonly from: string;
  /** The session, or the question, that it is about. */
  readonly about?: string;
};

const newsIn = (payload: string): News | undefined => {
  try {
    const given: unknown = JSON.parse(payload);
    if (!isRecord(given) || typeof given.from !== 'string') return undefined;
    const kind = KINDS.find((one) => one === given.kind);
    if (kind === undefined) return undefined;
    return { kind, from: given.from, ...(typeof given.about === 'string' ? { about: given.about } : {}) };
  } catch {
    return undefined;
  }
};

export type NewsChannel = {
  readonly tell: (news: News) => Promise<void>;
  /** Listens on a connection of its own. Called again it does so on a fresh one. */
  readonly listen: (onNews: (news: News) => void) => void;
  readonly close: () => Promise<void>;
};

/** The channel of one schema. */
export const createNews = ({ schema, ask, connectAnew }: PostgresLink): NewsChannel => {
  let ears: Sql | undefined;
  const close = async (): Promise<void> => {
    const closing = ears;
    ears = undefined;
    await closing?.end({ timeout: 0 }).catch(() => {});
  };
  return {
    async tell(news) {
      await ask((sql) => sql`SELECT pg_notify(${schema}, ${JSON.stringify(news)})`);
    },
    listen(onNews) {
      // The driver gives up listening when the database is away for longer than a moment.
      void close();
      ears = connectAnew();
      const heard = (payload: string): void => {
        const news = newsIn(payload);
        if (news !== undefined) onNews(news);
      };
      ears.listen(schema, heard).catch(() => {});
    },
    close,
  };
};
