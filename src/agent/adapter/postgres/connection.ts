import type { Sql } from 'postgres';
import postgres from 'postgres';
import { type StoreTrouble, StoreUnavailableError } from '../../store/errors.ts';
import { databaseConfigError } from '../sql-store.ts';
import {
  explainPostgresError,
  mayHaveRun,
  NO_HOST,
  NO_SETTINGS,
  NOT_POSTGRES,
  NOT_READY,
  PERCENT_ENCODED,
  toTrouble,
} from './errors.ts';
import { createClientPool, endClient } from './pool.ts';
import { POSTGRES_MIGRATIONS } from './schema/migrations.ts';

/** The key of the advisory lock for migrations. No other program uses it. */
const MIGRATION_LOCK = 4_757_465_600_001;

/**
 * Creates the schema if it is missing, and migrates it to the newest version. Servers that start at the same time take
 * turns, and see a version completely or not at all. A version that this program does not know is a `ConfigError`.
 */
export const migratePostgres = async (
  sql: Sql,
  schema: string,
  migrations: readonly string[] = POSTGRES_MIGRATIONS,
): Promise<void> => {
  await sql.begin(async (within) => {
    await within`SELECT pg_advisory_xact_lock(${MIGRATION_LOCK})`;
    const [held] = await within`SELECT to_regclass(${`${schema}.migration`}) IS NOT NULL AS is_there`;
    if (held?.is_there !== true) {
      // Checked first: `CREATE SCHEMA IF NOT EXISTS` needs a right that a careful operator takes away again.
      const [found] = await within`SELECT 1 FROM pg_namespace WHERE nspname = ${schema}`;
      if (found === undefined) await within`CREATE SCHEMA ${within(schema)}`;
      await within`CREATE TABLE migration (version integer PRIMARY KEY, made_at timestamptz NOT NULL DEFAULT now())`;
    }
    const [row] = await within`SELECT coalesce(max(version), 0)::int AS version FROM migration`;
    const version = Number(row?.version);
    if (version > migrations.length) {
      const versions = `it has version ${version}, and this program knows ${migrations.length}`;
      throw databaseConfigError(`expected a database that no newer release has written; ${versions}`);
    }
    for (const [step, text] of migrations.entries()) {
      if (step < version) continue;
      await within.unsafe(text);
      await within`INSERT INTO migration (version) VALUES (${step + 1})`;
    }
  });
};

export type { Sql };

export type PostgresOptions = {
  /** `postgres://user:password@host:port/database`. Of several hosts the one that takes writes is used. */
  readonly url: string;
  /** The schema that holds all tables (`gatehouse`). */
  readonly schema?: string;
  /** The most connections of the pool (5). */
  readonly connections?: number;
  /** How long a query may take (10 s): TCP reports a dead connection only after a quarter of an hour. */
  readonly queryLimitMs?: number;
  /** How long the first connection may take, with all its attempts (8 s). */
  readonly startLimitMs?: number;
};

type PostgresListener = { readonly close: () => Promise<void> };

/** A connection pool to one database. */
export type PostgresConnection = {
  readonly schema: string;
  /** Runs queries. Throws a `StoreUnavailableError` when the database is unavailable: the query may have run, or may run later. */
  readonly query: <T>(run: (sql: Sql) => PromiseLike<T>, limitMs?: number) => Promise<T>;
  /** Why the last query failed at the database; undefined when it did not. A damaged one stays so: it needs a person, and a restart. */
  readonly trouble: () => StoreTrouble | undefined;
  /** Receives what is sent to the channel of the schema's name, on a connection of its own. It connects again until it is closed. */
  readonly listen: (onPayload: (payload: string) => void) => PostgresListener;
  /** Whether `close` was called: nothing needs to wait for the database any more. */
  readonly isClosed: () => boolean;
  readonly close: () => Promise<void>;
};

/** The fewer there are, the less a query costs the database; with one alone a long query would hold up all others. */
const DEFAULT_CONNECTIONS = 5;
const CONNECT_LIMIT_SECONDS = 5;
const CLOSE_LIMIT_SECONDS = 1;
const RECONNECT_LIMIT_SECONDS = 1;
const QUERY_LIMIT_MS = 10_000;
/** Longer than `CONNECT_LIMIT_SECONDS`: an attempt that gets no answer at all has an error of its own. */
const START_LIMIT_MS = 8000;

/** Settles like `result`, or rejects with a `StoreUnavailableError` after `limitMs`. */
const withTimeLimit = async <T>(result: PromiseLike<T>, limitMs: number, onLate: () => void): Promise<T> => {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    late.reject(new StoreUnavailableError('unreachable', true));
    onLate();
  }, limitMs);
  try {
    return await Promise.race([result, late.promise]);
  } finally {
    clearTimeout(timer);
  }
};

/**
 * Whether a result has no first row, but others. The driver counts the rows of a query whose connection broke in the result of
 * the next one that it sends: that has so many places without a row before its own.
 */
const isShifted = (answer: unknown): boolean => Array.isArray(answer) && answer.length > 0 && !(0 in answer);

type ClientListeners = {
  readonly onnotify?: (channel: string, payload: string) => void;
  readonly onclose?: () => void;
};

/** A client with one connection. */
const createClient = ({ url, schema = 'gatehouse' }: PostgresOptions, listeners: ClientListeners = {}): Sql => {
  try {
    return postgres(url, {
      ...listeners,
      max: 1,
      connect_timeout: CONNECT_LIMIT_SECONDS,
      // Short, so that a database is used again soon after its restart.
      backoff: (attempt: number) => Math.min(RECONNECT_LIMIT_SECONDS, 0.05 * 2 ** attempt),
      target_session_attrs: 'read-write',
      // A transaction that waited for a lock must see what others committed meanwhile, whatever the database's default.
      connection: {
        application_name: 'gatehouse agent',
        search_path: schema,
        default_transaction_isolation: 'read committed',
        // Every query has an index. A plan that was made while the tables were empty would not use it, and would be cached.
        enable_seqscan: 'off',
        // Up to version 17 a scan that is off and has no alternative, as that of a sequence, counts as so expensive that each
        // of our short queries would be compiled first: 200 ms of processor time a message in place of 4.
        jit: 'off',
      },
      onnotice: () => {},
      // Dates and numbers are read as text, or cast in the query.
      fetch_types: false,
    });
  } catch {
    throw databaseConfigError(`expected postgres://user:password@host:port/database, ${PERCENT_ENCODED}`);
  }
};

/** Not by the driver's own `listen`: the client behind that cannot be ended with certainty. */
const openListener = (options: PostgresOptions, onPayload: (payload: string) => void): PostgresListener => {
  const { schema = 'gatehouse' } = options;
  let isClosed = false;
  const listen = (): void => {
    if (!isClosed) client.unsafe(`LISTEN "${schema.replaceAll('"', '""')}"`).catch(() => {});
  };
  const client = createClient(options, { onnotify: (_, payload) => onPayload(payload), onclose: listen });
  listen();
  return {
    close() {
      isClosed = true;
      return endClient(client, 0);
    },
  };
};

/**
 * Waits for the first connection, and checks that it has the settings that were asked for. The driver tries again, for ever and
 * without an error, when a server that is no PostgreSQL closes the connection, and when none of several hosts can be used.
 */
const waitForConnection = async (sql: Sql, limitMs: number): Promise<void> => {
  let isLate = false;
  try {
    const asked = sql`SELECT current_setting('search_path') AS path, current_setting('enable_seqscan') AS scan`;
    const [settings] = await withTimeLimit(asked, limitMs, () => {
      isLate = true;
    });
    const { search_path, enable_seqscan } = sql.options.connection;
    // A newer PgBouncer can keep the first one, and drops the second.
    if (settings?.path !== search_path || settings?.scan !== enable_seqscan) throw databaseConfigError(NO_SETTINGS);
  } catch (error) {
    if (!isLate) throw error;
    // PostgreSQL sends its parameters before a connection is ready.
    if (Object.keys(sql.parameters).length > 0) throw databaseConfigError(NOT_READY);
    throw databaseConfigError(sql.options.host.length > 1 ? NO_HOST : NOT_POSTGRES);
  }
};

/** Whether the address asks for TLS without leaving the choice to the server. */
const requiresTls = ({ options: { ssl } }: Sql): boolean => Boolean(ssl) && ssl !== 'prefer';

/** Connects, and runs `prepare` (the migrations) first. Throws a `ConfigError` when the database cannot be used. */
export const openPostgres = async (
  options: PostgresOptions,
  prepare: (sql: Sql, schema: string) => Promise<void> = migratePostgres,
): Promise<PostgresConnection> => {
  const schema = options.schema ?? 'gatehouse';
  const { queryLimitMs = QUERY_LIMIT_MS, startLimitMs = START_LIMIT_MS } = options;
  const pool = createClientPool(() => createClient(options), options.connections ?? DEFAULT_CONNECTIONS);
  let trouble: StoreTrouble | undefined;
  let isClosed = false;
  const note = (found: StoreTrouble | undefined): void => {
    if (trouble !== 'damaged') trouble = found;
  };
  const close = (): Promise<void> => {
    isClosed = true;
    return pool.end(CLOSE_LIMIT_SECONDS);
  };
  const first = pool.first();
  try {
    await waitForConnection(first, startLimitMs);
    await prepare(first, schema);
  } catch (error) {
    await close();
    throw explainPostgresError(error, requiresTls(first));
  }
  return {
    schema,
    async query(run, limitMs = queryLimitMs) {
      if (isClosed) throw new StoreUnavailableError();
      try {
        const answer = await pool.run(
          (client) =>
            withTimeLimit(run(client), limitMs, () => {
              if (!isClosed) pool.replaceAll(client);
            }),
          limitMs,
        );
        if (isShifted(answer)) throw new StoreUnavailableError('unreachable', true);
        note(undefined);
        return answer;
      } catch (error) {
        const found = toTrouble(error);
        if (found === undefined) throw error;
        note(found);
        throw new StoreUnavailableError(found, mayHaveRun(error));
      }
    },
    trouble: () => trouble,
    isClosed: () => isClosed,
    listen: (onPayload) => openListener(options, onPayload),
    close,
  };
};
