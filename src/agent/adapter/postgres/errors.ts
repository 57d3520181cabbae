import { errorCode } from '../../../adapter/node/error-code.ts';
import { isStoreFailure, type StoreTrouble } from '../../store/errors.ts';
import { databaseConfigError } from '../sql-store.ts';

/** Error codes of PostgreSQL for a database that answers, but cannot read or write what it is asked for. */
const TROUBLES: ReadonlyMap<string, StoreTrouble> = new Map([
  ['53100', 'disk-full'],
  ['58030', 'disk-failing'], // an error of the system while it read or wrote
  ['58P01', 'damaged'], // a file of the database is missing
  ['XX001', 'damaged'], // data that cannot be right, or whose checksum is wrong
  ['XX002', 'damaged'], // an index that cannot be right
]);
/** Error codes of the network, the driver and PostgreSQL for a connection that cannot be made. */
const NOT_CONNECTED = new Set([
  'CONNECT_TIMEOUT',
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOENT',
  '53300', // too many connections
  '57P03', // it is starting
]);
/** The same for a database that is unavailable. The query itself is fine. */
const UNREACHABLE = new Set([
  ...NOT_CONNECTED,
  'CONNECTION_CLOSED',
  'CONNECTION_ENDED',
  'CONNECTION_DESTROYED',
  'ECONNRESET',
  'ETIMEDOUT',
  'EPIPE',
  '25006', // a read-only replica: another host has become the primary
  '55P03', // lock not available
  '57014', // a time limit of the database cancelled it, which rolled it back
  '57P01', // it is shutting down
  '57P02', // it has crashed
  '57P05', // idle session timeout
]);
/** Serialization failure and deadlock: this transaction was rolled back. */
const TRANSACTION_CONFLICTS = new Set(['40001', '40P01']);
/** How a user and a password are written in the address. */
export const PERCENT_ENCODED = 'with special characters of the user and the password percent-encoded (@ as %40)';
/** No message of PostgreSQL came before the time limit of the first connection. */
export const NOT_POSTGRES =
  "expected a database that can be reached, and what answers at its host and port does not speak PostgreSQL's protocol";
/** The same with several hosts, which may all have refused. */
export const NO_HOST =
  "expected a database that can be reached, and none of its hosts answered in PostgreSQL's protocol";
/** PostgreSQL has answered, and no connection became ready. */
export const NOT_READY = 'expected a database that answers in time and takes writes';
/** PgBouncer refuses the settings of a connection, or drops those that `ignore_startup_parameters` names. */
export const NO_SETTINGS =
  'expected PostgreSQL itself: what answers refuses or drops the settings of a connection, as PgBouncer does';
const CREDENTIALS = `expected a user and a password that the database takes, ${PERCENT_ENCODED}`;
const FOREIGN_SCHEMA = 'expected a database in which no other program has a schema of this name';
const DAMAGED = 'expected a sound database, and this one is damaged';
const CONFIG_ERRORS: ReadonlyMap<string, string> = new Map([
  ['28P01', CREDENTIALS],
  ['28000', CREDENTIALS],
  ['3D000', 'expected a database that is there'],
  ['42501', 'expected a user who may make a schema in the database'],
  ['42704', 'expected no name in the query of the address but sslmode and settings of PostgreSQL'],
  ['22023', 'expected settings in the query of the address that PostgreSQL takes'],
  ['42P07', FOREIGN_SCHEMA],
  ['42723', FOREIGN_SCHEMA],
  ['42703', FOREIGN_SCHEMA],
  ['42883', FOREIGN_SCHEMA],
  ['57014', NOT_READY],
  ['53100', 'expected space on the disk of the database, and it is full'],
  ['58030', 'expected a disk that can be read and written'],
  ['58P01', DAMAGED],
  ['XX001', DAMAGED],
  ['XX002', DAMAGED],
]);

/** TLS errors of Node: the certificate has an unknown issuer, another host name, or has expired. */
const UNTRUSTED_CERTIFICATE = /CERT|^UNABLE_TO_/;

/** How Node reports that the other side does not speak TLS. */
const TLS_FAILED = /^ERR_SSL_|^EPROTO$/;

const codeOf = (error: unknown): string => errorCode(error) ?? '';

/** Whether the database could not be reached. The query may have run. */
const isUnreachable = (error: unknown): boolean => UNREACHABLE.has(codeOf(error)) || codeOf(error).startsWith('08');

/** Whether a query failed because of the connection that it was sent on: the database may have closed it. */
export const isConnectionLost = (error: unknown): boolean => isUnreachable(error) && !NOT_CONNECTED.has(codeOf(error));

/** Whether what was sent may have been done: the connection broke before an answer. A pooler reports that with class 08. */
export const mayHaveRun = (error: unknown): boolean => {
  if (isStoreFailure(error)) return error.mayHaveRun;
  const isAnswered = error instanceof Error && error.name === 'PostgresError' && !codeOf(error).startsWith('08');
  return isConnectionLost(error) && !isAnswered;
};

/** What an error says is wrong with the database; undefined where the query itself was. */
export const toTrouble = (error: unknown): StoreTrouble | undefined =>
  isStoreFailure(error)
    ? error.trouble
    : (TROUBLES.get(codeOf(error)) ?? (isUnreachable(error) ? 'unreachable' : undefined));

/** Whether a transaction was rolled back because of another one, so that an immediate retry may succeed. */
export const isTransactionConflict = (error: unknown): boolean => TRANSACTION_CONFLICTS.has(codeOf(error));

/**
 * Whether nothing was stored and a retry would fail too: the data cannot be serialized, the database rejects it, or what it
 * belongs to is damaged.
 */
export const isRejected = (error: unknown): boolean => {
  const trouble = toTrouble(error);
  if (trouble !== undefined) return trouble === 'damaged';
  return error instanceof RangeError || (error instanceof Error && error.name === 'PostgresError');
};

/** A task of a group that `commit_group` refused: its place in the group, and why. */
export type RefusedTask = { readonly place: number; readonly reason: string };

/** The refused task that an error of the driver is about. */
export const refusedTask = (error: unknown): RefusedTask | undefined => {
  if (codeOf(error) !== 'GH001' || !(error instanceof Error) || !('detail' in error)) return undefined;
  const place = Number.parseInt(String(error.detail), 10);
  return Number.isNaN(place) ? undefined : { place, reason: error.message };
};

/** Whether a row refers to one that does not exist any more. */
export const isForeignKeyViolation = (error: unknown): boolean => codeOf(error) === '23503';

/**
 * Maps an error of the first connection to a `ConfigError`. Returns errors unchanged that have another cause. A server
 * without TLS closes the connection when `requiresTls`.
 */
export const explainPostgresError = (error: unknown, requiresTls = false): unknown => {
  const code = codeOf(error);
  const refused = CONFIG_ERRORS.get(code);
  if (refused !== undefined) return databaseConfigError(refused);
  const isByDatabase = error instanceof Error && error.name === 'PostgresError';
  if (isByDatabase && code === '08P01' && error.message.includes('startup parameter'))
    return databaseConfigError(NO_SETTINGS);
  if (UNTRUSTED_CERTIFICATE.test(code))
    return databaseConfigError(`expected a certificate that can be trusted (${code})`);
  if (TLS_FAILED.test(code) || (requiresTls && code === 'ECONNRESET'))
    return databaseConfigError(
      `expected a database that can be reached with TLS, as sslmode asks; it may have none (${code})`,
    );
  if (isUnreachable(error)) return databaseConfigError(`expected a database that can be reached (${code})`);
  if (isStoreFailure(error)) return databaseConfigError(`${NOT_READY} (${error.trouble})`);
  if (isByDatabase)
    return databaseConfigError(`expected a database that does what a start needs (${code}, see its log)`);
  return error;
};
