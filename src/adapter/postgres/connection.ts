import type { Sql } from 'postgres';
import postgres from 'postgres';
import { StoreUnavailable } from '../../agent/store/errors.ts';
import { asDatabaseProblem, databaseProblem, isAway } from './errors.ts';
import { MIGRATIONS } from './schema.ts';

/** Of all programs only this one locks by it. */
const LOCK = 4_757_465_600_001;

/**
 * Brings the schema of the connection to the newest version, making it where it is not there. Servers that start at the
 * same time take turns, and see a version whole or not at all. A newer version than this program knows is refused.
 */
export const migrate = async (sql: Sql, schema: string, migrations: readonly string[] = MIGRATIONS): Promise<void> => {
  await sql.begin(async (within) => {
    await within`SELECT pg_advisory_xact_lock(${LOCK})`;
    const [held] = await within`SELECT to_regclass(${`${schema}.migration`}) IS NOT NULL AS is_there`;
    if (held?.is_there !== true) {
      // Asked first: making what is there needs a right that a careful operator takes away again.
      const [found] = await within`SELECT 1 FROM pg_namespace WHERE nspname = ${schema}`;
      if (found === undefined) await within`CREATE SCHEMA ${within(schema)}`;
      await within`CREATE TABLE migration (version integer PRIMARY KEY, made_at timestamptz NOT NULL DEFAULT now())`;
    }
    const [row] = await within`SELECT coalesce(max(version), 0)::int AS version FROM migration`;
    const version = Number(row?.version);
    if (version > migrations.length) {
      const versions = `it has version ${version}, and this program knows ${migrations.length}`;
      throw databaseProblem(`expected a database that no newer release has written; ${versions}`);
    }
    for (const [step, text] of migrations.entries()) {
      if (step < version) continue;
      await within.unsafe(text);
      await within`INSERT INTO migration (version) VALUES (${step + 1})`;
    }
  });
};

export type { Sql };

export type PostgresPlace = {
  /** `postgres://user:password@host:port/database`, of several hosts the one that takes writes. */
  readonly url: string;
  /** Where in the database everything is. */
  readonly schema?: string;
  /** Connections at most, one of them to listen and one to write. */
  readonly connections?: number;
  /** How long an answer may take (10 s): a way that has gone dead in the middle says nothing for a quarter of an hour. */
  readonly answerLimitMs?: number;
};

/** The way to one database. */
export type PostgresLink = {
  /** The connections that are in use at the moment: others take their place when these go dead. */
  readonly sql: Sql;
  readonly schema: string;
  /** Asks the database; a `StoreUnavailable` when it is away. What was asked may have been done, or be done yet. */
  readonly ask: <T>(question: (sql: Sql) => PromiseLike<T>, limitMs?: number) => Promise<T>;
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
const ANSWER_LIMIT_MS = 10_000;

/** What was asked, or a `StoreUnavailable` when that takes longer. */
const inTime = async <T>(asked: PromiseLike<T>, limitMs: number, onLate: () => void): Promise<T> => {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    late.reject(new StoreUnavailable());
    onLate();
  }, limitMs);
  try {
    return await Promise.race([asked, late.promise]);
  } finally {
    clearTimeout(timer);
  }
};

const linkTo = ({ url, schema = 'gatehouse', connections = CONNECTIONS }: PostgresPlace): Sql => {
  try {
    return postgres(url, {
      max: connections,
      connect_timeout: CONNECT_LIMIT_SECONDS,
      // A database that is back after a restart is to be used at once.
      backoff: (attempt: number) => Math.min(AGAIN_LIMIT_SECONDS, 0.05 * 2 ** attempt),
      target_session_attrs: 'read-write',
      // Whoever has waited for a lock is to see what was done meanwhile, whatever the database's own setting.
      connection: {
        application_name: 'gatehouse agent',
        search_path: schema,
        default_transaction_isolation: 'read committed',
        // Every question has an index. A plan that was made while the tables were empty would not use it, and be kept.
        enable_seqscan: 'off',
      },
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
  const { answerLimitMs = ANSWER_LIMIT_MS } = place;
  let sql = linkTo(place);
  let isUp = true;
  let isClosed = false;
  const close = (): Promise<void> => {
    isClosed = true;
    return sql.end({ timeout: CLOSE_LIMIT_SECONDS });
  };
  /** Every question that hangs on a dead connection fails then, and the next one is asked on another. */
  const renew = (dead: Sql): void => {
    if (dead !== sql || isClosed) return;
    sql = linkTo(place);
    void dead.end({ timeout: 0 }).catch(() => {});
  };
  try {
    await prepare(sql, schema);
  } catch (error) {
    await close();
    throw asDatabaseProblem(error);
  }
  return {
    get sql() {
      return sql;
    },
    schema,
    async ask(question, limitMs = answerLimitMs) {
      const asked = sql;
      try {
        const answer = await inTime(question(asked), limitMs, () => renew(asked));
        isUp = true;
        return answer;
      } catch (error) {
        if (!isAway(error) && !(error instanceof StoreUnavailable)) throw error;
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
