import type { StoreTrouble } from '../../agent/store/errors.ts';
import { errorCode } from '../node/error-code.ts';
import { databaseConfigError } from '../sql-store.ts';

const DISK_FULL = '53100';
/** Error codes of the network, the driver and PostgreSQL for a database that is unavailable. The query itself is fine. */
const UNAVAILABLE = new Set([
  'CONNECTION_CLOSED',
  'CONNECTION_ENDED',
  'CONNECTION_DESTROYED',
  'CONNECT_TIMEOUT',
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ETIMEDOUT',
  'EPIPE',
  'ENOENT',
  '25006', // a read-only replica: another host has become the primary
  DISK_FULL,
  '53300', // too many connections
  '55P03', // lock not available
  '57P01', // it is shutting down
  '57P02', // it has crashed
  '57P03', // it is starting
  '57P05', // idle session timeout
]);
/** Serialization failure and deadlock: this transaction was rolled back. */
const TRANSACTION_CONFLICTS = new Set(['40001', '40P01']);
const FOREIGN_SCHEMA = 'expected a database in which no other program has a schema of this name';
const CONFIG_ERRORS: ReadonlyMap<string, string> = new Map([
  ['28P01', 'expected a user and a password that the database takes'],
  ['28000', 'expected a user and a password that the database takes'],
  ['3D000', 'expected a database that is there'],
  ['42501', 'expected a user who may make a schema in the database'],
  ['42704', 'expected no name in the query of the address but sslmode and settings of PostgreSQL'],
  ['22023', 'expected settings in the query of the address that PostgreSQL takes'],
  ['42P07', FOREIGN_SCHEMA],
  ['42723', FOREIGN_SCHEMA],
  ['42703', FOREIGN_SCHEMA],
  ['42883', FOREIGN_SCHEMA],
]);

/** TLS errors of Node: the certificate has an unknown issuer, another host name, or has expired. */
const UNTRUSTED_CERTIFICATE = /CERT|^UNABLE_TO_/;

const codeOf = (error: unknown): string => errorCode(error) ?? '';

/** Whether the database was unavailable, so that a retry may succeed later. The query may have run. */
export const isUnavailable = (error: unknown): boolean =>
  UNAVAILABLE.has(codeOf(error)) || codeOf(error).startsWith('08');

/** What an error of an unavailable database says is wrong. */
export const toTrouble = (error: unknown): StoreTrouble => (codeOf(error) === DISK_FULL ? 'disk-full' : 'unreachable');

/** Whether a transaction was rolled back because of another one, so that an immediate retry may succeed. */
export const isTransactionConflict = (error: unknown): boolean => TRANSACTION_CONFLICTS.has(codeOf(error));

/** Whether nothing was stored and a retry would fail too: the data cannot be serialized, or the database rejects it. */
export const isRejected = (error: unknown): boolean =>
  error instanceof RangeError || (error instanceof Error && error.name === 'PostgresError' && !isUnavailable(error));

/** Whether a row refers to one that does not exist any more. */
export const isForeignKeyViolation = (error: unknown): boolean => codeOf(error) === '23503';

/** Maps an error of the first connection to a `ConfigError`. Returns errors unchanged that have another cause. */
export const explainPostgresError = (error: unknown): unknown => {
  const refused = CONFIG_ERRORS.get(codeOf(error));
  if (refused !== undefined) return databaseConfigError(refused);
  if (UNTRUSTED_CERTIFICATE.test(codeOf(error)))
    return databaseConfigError(`expected a certificate that can be trusted (${codeOf(error)})`);
  return isUnavailable(error)
    ? databaseConfigError(`expected a database that can be reached (${codeOf(error)})`)
    : error;
};
