import { Fault } from '../../core/fault.ts';
import type { SessionPlace } from '../store/store.ts';

const invalidQuery = (param: string, message: string) =>
  new Fault({ kind: 'bad-input', code: 'invalid_query', param, message: `${param}: ${message}` });

/** The query parameters of a request. Parses the query alone, so that a malformed URL does not throw. */
export const parseQuery = ({ url }: Request): URLSearchParams => {
  const start = url.indexOf('?');
  return new URLSearchParams(start === -1 ? '' : url.slice(start + 1).replace(/#.*$/s, ''));
};

/** A query parameter that is a whole number up to `most`, if it is there; a `bad-input` fault when it is something else. */
export const wholeNumberParameter = (query: URLSearchParams, name: string, most: number): number | undefined => {
  const text = query.get(name);
  if (text === null || text === '') return undefined;
  const value = Number(text);
  if (!/^\d{1,16}$/.test(text) || value > most) throw invalidQuery(name, `expected a whole number up to ${most}`);
  return value;
};

const PLACE = /^(\d{1,16}),(ses_\w{1,60})$/;

/** The query parameter with the place of a session in the list: its `time.updated` and its id, with a comma between them. */
export const placeParameter = (query: URLSearchParams, name: string): SessionPlace | undefined => {
  const text = query.get(name);
  if (text === null || text === '') return undefined;
  const [, updated, id] = PLACE.exec(text) ?? [];
  if (updated === undefined || id === undefined)
    throw invalidQuery(
      name,
      'expected time.updated and the id of the last session of a page, as 1700000000000,ses_...',
    );
  return { updatedMs: Number(updated), id };
};

const decodePath = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    throw invalidQuery('x-opencode-directory', 'expected a path with percent escapes');
  }
};

const PATH_CHARS = 4096;

/** The directory of a request: from its query, its header, or the server's own. It need not exist. */
export const requestDirectory = (request: Request, own: string): string => {
  const header = request.headers.get('x-opencode-directory');
  const requested = parseQuery(request).get('directory') ?? (header === null ? undefined : decodePath(header));
  if (requested === undefined || requested === '') return own;
  if (requested.length > PATH_CHARS) throw invalidQuery('directory', `expected at most ${PATH_CHARS} characters`);
  return requested;
};
