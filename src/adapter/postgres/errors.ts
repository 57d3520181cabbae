import { ConfigError } from '../../core/config.ts';

/** What PostgreSQL and the way to it say when nothing is wrong with what was asked. */
const AWAY = new Set([
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
  '25006', // a replica that takes no writes: the other one was made the primary
  '53100', // its disk is full
  '53300', // too many connections
  '55P03', // a lock that was not to be had
  '57P01', // it is being stopped
  '57P02', // it has crashed
  '57P03', // it is being started
  '57P05',
]);
/** Two transactions were in each other's way, and this one was undone. */
const AGAIN = new Set(['40001', '40P01']);
const STRANGE = 'expected a database in which no other program has a schema of this name';
const REFUSED: ReadonlyMap<string, string> = new Map([
  ['28P01', 'expected a user and a password that the database takes'],
  ['28000', 'expected a user and a password that the database takes'],
  ['3D000', 'expected a database that is there'],
  ['42501', 'expected a user who may make a schema in the database'],
  ['42704', 'expected no name in the query of the address but sslmode and settings of PostgreSQL'],
  ['22023', 'expected settings in the query of the address that PostgreSQL takes'],
  ['42P07', STRANGE],
  ['42723', STRANGE],
  ['42703', STRANGE],
  ['42883', STRANGE],
]);

/** Of TLS: the certificate is of nobody known, of another name, or out of its time. */
const UNTRUSTED = /CERT|^UNABLE_TO_/;

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';

/** Whether the database was away, so that the same may go well later. What was asked may have been done. */
export const isAway = (error: unknown): boolean => AWAY.has(codeOf(error)) || codeOf(error).startsWith('08');

/** Whether nothing was done, and the same may go well at once. */
export const isToRepeat = (error: unknown): boolean => AGAIN.has(codeOf(error));

/** Whether nothing was done, and the same would not go well later: it cannot be written, or the database does not take it. */
export const isRefused = (error: unknown): boolean =>
  error instanceof RangeError || (error instanceof Error && error.name === 'PostgresError' && !isAway(error));

/** Whether something belongs to what is not there any more. */
export const isHomeless = (error: unknown): boolean => codeOf(error) === '23503';

/** What is wrong with the database that was configured. Names the variable, never what is in it. */
export const databaseProblem = (reason: string): ConfigError => new ConfigError([`AGENT_DATABASE_URL: ${reason}`]);

/** An error of the first connection as a problem of the configuration, or as it was when it is none. */
export const asDatabaseProblem = (error: unknown): unknown => {
  const refused = REFUSED.get(codeOf(error));
  if (refused !== undefined) return databaseProblem(refused);
  if (UNTRUSTED.test(codeOf(error)))
    return databaseProblem(`expected a certificate that can be trusted (${codeOf(error)})`);
  return isAway(error) ? databaseProblem(`expected a database that can be reached (${codeOf(error)})`) : error;
};
