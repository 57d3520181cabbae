import { isRecord } from '../../../core/json.ts';
import type { PostgresConnection } from './connection.ts';

const KINDS = ['events', 'ticket', 'end', 'answer', 'beat'] as const;

/** Sent by PostgreSQL's NOTIFY as JSON. A server that misses one reads the database at its next heartbeat. */
export type ClusterNotification = {
  readonly kind: (typeof KINDS)[number];
  /** The id of the sending server. */
  readonly from: string;
  /** The id of the session, or of the permission request, that it is about. */
  readonly about?: string;
};

const parseNotification = (payload: string): ClusterNotification | undefined => {
  try {
    const message: unknown = JSON.parse(payload);
    if (!isRecord(message) || typeof message.from !== 'string') return undefined;
    const kind = KINDS.find((one) => one === message.kind);
    if (kind === undefined) return undefined;
    return { kind, from: message.from, ...(typeof message.about === 'string' ? { about: message.about } : {}) };
  } catch {
    return undefined;
  }
};

export type NotificationChannel = {
  readonly publish: (notification: ClusterNotification) => Promise<void>;
  /** Listens on a dedicated connection. A second call replaces it with a new one. */
  readonly listen: (onNotification: (notification: ClusterNotification) => void) => void;
  readonly close: () => Promise<void>;
};

/** The notification channel of one schema. */
export const createNotificationChannel = ({ schema, query, listen }: PostgresConnection): NotificationChannel => {
  let listener: ReturnType<typeof listen> | undefined;
  const close = async (): Promise<void> => {
    const closing = listener;
    listener = undefined;
    await closing?.close();
  };
  return {
    async publish(notification) {
      await query((sql) => sql`SELECT pg_notify(${schema}, ${JSON.stringify(notification)})`);
    },
    listen(onNotification) {
      void close();
      listener = listen((payload) => {
        const notification = parseNotification(payload);
        if (notification !== undefined) onNotification(notification);
      });
    },
    close,
  };
};
