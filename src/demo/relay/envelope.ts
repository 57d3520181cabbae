import * as v from 'valibot';
import { jsonResponse } from '../../core/http/response.ts';

type HeaderTexts = Readonly<Record<string, string>>;

/** Success: `code` is the number 0. Data that is undefined is left out, as the platform leaves out nil. */
export const ok = (data: unknown, headers: HeaderTexts = {}): Response =>
  jsonResponse(200, { code: 0, message: 'success', data }, headers);

type RelayRefusal = {
  readonly status: number;
  readonly message: string;
  readonly reason?: string;
  readonly metadata?: Readonly<Record<string, string>>;
};

/** A handler's refusal: `code` is the status as a number, and every value in `metadata` is a text. */
export const refusedResponse = ({ status, ...rest }: RelayRefusal, headers: HeaderTexts = {}): Response =>
  jsonResponse(status, { code: status, ...rest }, headers);

/** The other shape, that of whatever stands before the handlers: `code` is a word, and there is never any `data`. */
export const guardError = (status: number, code: string, message: string, more: object = {}): Response =>
  jsonResponse(status, { code, message, ...more });

/** What the platform makes of every error that it did not foresee, refusals by its own rules among them. */
export const internalError = (): Response => refusedResponse({ status: 500, message: 'internal error' });

/** What could not be bound to the request's fields. */
export const invalid = (detail: string): Response =>
  refusedResponse({ status: 400, message: `Invalid request: ${detail}` });

/** A page that a proxy or the panel's own front end puts where JSON was asked for. */
export const htmlPage = (status: number, title: string): Response =>
  new Response(`<!doctype html><html><head><title>${title}</title></head><body><h1>${title}</h1></body></html>`, {
    status,
    headers: { 'content-type': 'text/html; charset=utf-8' },
  });

type Page = { readonly page: number; readonly pageSize: number };

const LARGEST_PAGE = 1000;
const USUAL_PAGE = 20;

const countOf = (text: string | null): number => (text !== null && /^\d{1,9}$/.test(text) ? Number(text) : 0);

/** Reads `page` and `page_size` or `limit`. A size past 1000 is silently 20, like everything else that is no size. */
export const parsePage = (query: URLSearchParams): Page => {
  const size = countOf(query.get('page_size') ?? query.get('limit'));
  return {
    page: Math.max(1, countOf(query.get('page'))),
    pageSize: size >= 1 && size <= LARGEST_PAGE ? size : USUAL_PAGE,
  };
};

/** One page of a list, in the platform's frame: an empty list has one page. */
export const toPage = <Item>(items: readonly Item[], { page: number, pageSize }: Page) => ({
  items: items.slice((number - 1) * pageSize, number * pageSize),
  total: items.length,
  page: number,
  page_size: pageSize,
  pages: Math.max(1, Math.ceil(items.length / pageSize)),
});

/**
 * A body bound to its fields, or undefined where the platform would refuse it. Null counts as left out, and names that
 * the schema lacks are dropped in silence.
 */
export const parseBody = <Schema extends v.GenericSchema>(
  schema: Schema,
  body: string,
): v.InferOutput<Schema> | undefined => {
  try {
    const result = v.safeParse(
      schema,
      JSON.parse(body, (_, value) => (value === null ? undefined : value)),
    );
    return result.success ? result.output : undefined;
  } catch {
    return undefined;
  }
};
