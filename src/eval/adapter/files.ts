import { appendFileSync, closeSync, createReadStream, ftruncateSync, openSync } from 'node:fs';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { pipeline, Readable } from 'node:stream';
import type { WriteStream } from 'node:tty';
import { SingleBar } from 'cli-progress';
import { parse } from 'csv-parse';
import { errorCode } from '../../adapter/node/error-code.ts';
import type { Clock } from '../../core/clock.ts';
import type { Progress } from '../evaluate.ts';
import { formatCount } from '../report/text.ts';
import type { ResultsFile } from '../result.ts';
import type { TableRecord } from '../row.ts';

/** A file that cannot be read or written, or has invalid content. */
export class FileError extends Error {
  override readonly name = 'FileError';
}

/** The error code of the system, without its message, which adds only the path. */
const codeOf = (error: unknown): string => errorCode(error) ?? 'unknown';

/** A file's text in pieces, without a byte order mark. Throws a `FileError` for invalid UTF-8 and for a read error. */
export async function* readText(file: string): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const decode = (bytes?: Uint8Array): string => {
    try {
      return decoder.decode(bytes, { stream: bytes !== undefined });
    } catch {
      throw new FileError(`${file}: expected text in UTF-8`);
    }
  };
  const stream: AsyncIterable<Uint8Array> = createReadStream(file);
  try {
    for await (const bytes of stream) yield decode(bytes);
  } catch (error) {
    throw error instanceof FileError ? error : new FileError(`Cannot read ${file}: ${codeOf(error)}`);
  }
  const rest = decode();
  if (rest !== '') yield rest;
}

const OPTIONS = { raw: true, relax_column_count: true, record_delimiter: ['\r\n', '\n', '\r'] };

const countLineBreaks = (parsed: object): number =>
  'raw' in parsed && typeof parsed.raw === 'string' ? (parsed.raw.match(/\r\n|\n|\r/g)?.length ?? 0) : 0;

/** The records of a CSV file, including its header, each with the line number of its beginning. Cells may hold line breaks. */
export async function* readTable(file: string): AsyncGenerator<TableRecord> {
  const begins: number[] = [];
  let line = 1;
  // Lines are counted here because the parser counts a CRLF within quotes twice, and while it parses because it drops its
  // parsed records when it fails.
  const parser = parse({
    ...OPTIONS,
    on_record(parsed) {
      begins.push(line);
      line += countLineBreaks(parsed);
      return parsed;
    },
  });
  // A failing source destroys the parser, so the loop below gets the error.
  pipeline(Readable.from(readText(file)), parser, () => {});
  const records: AsyncIterable<{ readonly record: readonly string[] }> = parser;
  try {
    for await (const { record } of records) yield { line: begins.shift() ?? line, cells: record };
  } catch (error) {
    if (!codeOf(error).includes('QUOTE')) throw error;
    throw new FileError(`${file} line ${line}: expected CSV, with quotes around a whole cell and doubled within it`);
  }
}

/** The text of a file, or undefined when it does not exist. Throws a `FileError` when it cannot be read. */
export const readIfExists = async (file: string): Promise<string | undefined> => {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw new FileError(`Cannot read ${file}: ${codeOf(error)}`);
  }
};

/**
 * Opens a file for appending, and truncates it to its first `keepBytes`. `append` is synchronous, so that a killed run loses
 * at most the line that it was writing.
 */
export const openResultsFile = (file: string, keepBytes: number): ResultsFile => {
  const attempt = <T>(action: () => T): T => {
    try {
      return action();
    } catch (error) {
      throw new FileError(`Cannot write ${file}: ${codeOf(error)}`);
    }
  };
  const descriptor = attempt(() => openSync(file, 'a'));
  attempt(() => ftruncateSync(descriptor, keepBytes));
  return {
    append: (text) => attempt(() => appendFileSync(descriptor, text)),
    close: () => closeSync(descriptor),
  };
};

/** Whether there is a directory at this path. */
export const isDirectory = async (path: string): Promise<boolean> =>
  (await stat(path).catch(() => undefined))?.isDirectory() === true;

/** Writes a whole file. Throws a `FileError` when it cannot. */
export const writeWhole = async (file: string, text: string): Promise<void> => {
  await writeFile(file, text).catch((error: unknown) => {
    throw new FileError(`Cannot write ${file}: ${codeOf(error)}`);
  });
};

const LINE_EVERY_MS = 5000;

/** A progress bar for terminals. */
export const createProgressBar = (stream: WriteStream): Progress => {
  const bar = new SingleBar({
    format: '{bar} {value}/{total}, errors: {errors}, {eta_formatted} to go',
    stream,
    clearOnComplete: true,
    barCompleteChar: '#',
    barIncompleteChar: '.',
  });
  return {
    start: (total, done) => bar.start(total, done, { errors: 0 }),
    advance: (done, errors) => bar.update(done, { errors }),
    stop: () => bar.stop(),
  };
};

/** Progress as a plain line every few seconds, for logs. */
export const createProgressLines = (write: (line: string) => void, clock: Clock): Progress => {
  let total = 0;
  let writtenAt = clock.now();
  return {
    start(rows) {
      total = rows;
      writtenAt = clock.now();
    },
    advance(done, errors) {
      if (clock.now() - writtenAt < LINE_EVERY_MS) return;
      writtenAt = clock.now();
      write(`${done} of ${total}, ${formatCount(errors, 'error')}\n`);
    },
    stop() {},
  };
};
