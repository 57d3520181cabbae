import { type StoreTrouble, StoreUnavailableError } from '../../store/errors.ts';
import { databaseConfigError } from '../sql-store.ts';

const BUSY = 5;
const FULL = 13;
const REASONS: ReadonlyMap<number, string> = new Map([
  [BUSY, 'expected a database that no other process holds locked'],
  [8, 'expected a file that this process may write, in a directory that it may write'],
  [10, 'expected a disk that can be read and written'],
  [11, 'expected a sound database, and this one is damaged'],
  [FULL, 'expected space on the disk of the database, and it is full'],
  [14, 'expected a file that can be opened or made, in a directory that this process may write'],
  [26, 'expected a SQLite database, and the file is none'],
]);

/** The primary result code of an SQLite error: the low byte of its extended code. */
const kindOf = (error: Error): number | undefined =>
  'errcode' in error && typeof error.errcode === 'number' ? error.errcode & 0xff : undefined;

/** Result codes of a database that was open already. */
const TROUBLES: ReadonlyMap<number, StoreTrouble> = new Map([
  [BUSY, 'locked'],
  [8, 'disk-failing'],
  [10, 'disk-failing'],
  [11, 'damaged'],
  [FULL, 'disk-full'],
  [14, 'disk-failing'],
  [26, 'damaged'],
]);

/** Maps an error of an open database to a `StoreUnavailableError`. Returns errors unchanged that have another cause. */
export const toStoreError = (error: unknown): unknown => {
  const trouble = error instanceof Error ? TROUBLES.get(kindOf(error) ?? 0) : undefined;
  return trouble === undefined ? error : new StoreUnavailableError(trouble);
};

/** Whether SQLite did nothing because another process holds a lock. */
export const isBusy = (error: unknown): boolean => error instanceof Error && kindOf(error) === BUSY;

/** Whether SQLite found no space for what was to be written. */
export const isDiskFull = (error: unknown): boolean => error instanceof Error && kindOf(error) === FULL;

/** Maps an error of opening a file to a `ConfigError`. Returns errors unchanged that have another cause. */
export const explainSqliteError = (error: unknown): unknown => {
  if (!(error instanceof Error)) return error;
  const known = REASONS.get(kindOf(error) ?? 0);
  if (known !== undefined) return databaseConfigError(known);
  const code = 'syscall' in error && 'code' in error ? String(error.code) : undefined;
  if (code === 'ENOENT')
    return databaseConfigError(
      'expected a path whose directories exist; only the last one is made where it is missing',
    );
  return code === undefined ? error : databaseConfigError(`expected a file that can be opened or made (${code})`);
};
