import postgres, { type Sql } from 'postgres';
import { StoreUnavailable } from '../agent/store-unavailable.ts';
import { migrate } from './postgres-migrate.ts';
import { asDatabaseProblem, databaseProblem, isAway } from './postgres-trouble.ts';

export type { Sql };

export type PostgresPlace = {
  /** `postgres://user:password@host:port/database`, of several hosts the one that takes writes. */
  readonly url: string;
  /** Where in the database everything is. */
  readonly schema?: string;
  /** Connections at most, one of them to listen and one to write. */
  readonly connections?: number;
};

/** The way to one database. */
export type PostgresLink = {
  readonly sql: Sql;
  readonly schema: string;
  /** Asks the database; a `StoreUnavailable` when it is away. */
  readonly ask: <T>(question: (sql: Sql) => PromiseLike<T>) => Promise<T>;
  readonly isUp: () => boolean;
  /** A way of its own, for one connection. */
  readonly connectAnew: () => Sql;
  /** Whether it was closed from here: nothing has to wait for the database any more. */
  readonly isClosed: () => boolean;
  readonly close: () => Promise<void>;
};

const CONNECTIONS = 10;
const CONNECT_LIMIT_SECONDS = 5;
const CLOSE_LIMIT_SECONDS = 1;
const AGAIN_LIMIT_SECONDS = 1;

const linkTo = ({ url, schema = 'gatehouse', connections = CONNECTIONS }: PostgresPlace): Sql => {
  try {
    return postgres(url, {
      max: connections,
      connect_timeout: CONNECT_LIMIT_SECONDS,
      // A database that is back after a restart is to be used at once.
      backoff: (attempt: number) => Math.min(AGAIN_LIMIT_SECONDS, 0.05 * 2 ** attempt),
      target_session_attrs: 'read-write',
      connection: { application_name: 'gatehouse agent', search_path: schema },
      onnotice: () => {},
      // Dates and numbers come as texts or as this code asks for them.
      fetch_types: false,
    });
  } catch {
    throw databaseProblem('expected postgres://user:password@host:port/database');
  }
};

/** Connects, and brings the database up to date or does what else is to be done first. A `ConfigError` says why it cannot be used. */
export const openPostgres = async (
  place: PostgresPlace,
  prepare: (sql: Sql, schema: string) => Promise<void> = migrate,
): Promise<PostgresLink> => {
  const schema = place.schema ?? 'gatehouse';
  const sql = linkTo(place);
  let isUp = true;
  let isClosed = false;
  const close = (): Promise<void> => {
    isClosed = true;
    return sql.end({ timeout: CLOSE_LIMIT_SECONDS });
  };
  try {
    await prepare(sql, schema);
  } catch (error) {
    await close();
    throw asDatabaseProblem(error);
  }
  return {
    sql,
    schema,
    async ask(question) {
      try {
        const answer = await question(sql);
        isUp = true;
        return answer;
      } catch (error) {
        if (!isAway(error)) throw error;
        isUp = false;
        throw new StoreUnavailable();
      }
    },
    isUp: () => isUp,
    isClosed: () => isClosed,
    connectAnew: () => linkTo({ ...place, connections: 1 }),
    close,
  };
};
