import { isRecord } from '../../../core/json.ts';

/** A call of the console's API that failed. `code` and `decided` are those of the answer; status 0: there was no answer. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;
  readonly code: string | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(status: number, message: string, details: Readonly<Record<string, unknown>> = {}, retryAfter?: number) {
    super(message);
    this.status = status;
    this.code = typeof details.code === 'string' ? details.code : undefined;
    this.details = details;
    this.retryAfterSeconds = retryAfter;
  }
}

/** Sends requests to the console's own API, with the token of the session against forged requests. */
export type Api = {
  readonly get: <Value>(path: string, signal?: AbortSignal) => Promise<Value>;
  readonly send: <Value>(
    method: 'POST' | 'DELETE',
    path: string,
    body?: unknown,
    signal?: AbortSignal,
  ) => Promise<Value>;
  /** The open response, for answers that stream. Throws `ApiError` for a status that is no success. */
  readonly open: (
    method: 'GET' | 'POST' | 'DELETE',
    path: string,
    body?: unknown,
    signal?: AbortSignal,
  ) => Promise<Response>;
};

/** The code of an answer that is not the console's, such as the login page of a proxy before it. */
export const NOT_THE_CONSOLE = 'not_the_console';

type ApiNeeds = {
  readonly csrf: () => string;
  /** Called when the session has ended. */
  readonly onLoggedOut: () => void;
};

const failureOf = async (response: Response): Promise<ApiError> => {
  const body: unknown = await response.json().catch(() => undefined);
  const error = isRecord(body) && isRecord(body.error) ? body.error : {};
  const message = typeof error.message === 'string' ? error.message : '';
  const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN);
  return new ApiError(response.status, message, error, Number.isFinite(retryAfter) ? retryAfter : undefined);
};

export const createApi = ({ csrf, onLoggedOut }: ApiNeeds): Api => {
  const open: Api['open'] = async (method, path, body, signal) => {
    const response = await fetch(path, {
      method,
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(method === 'GET' ? {} : { 'x-csrf': csrf() }),
      },
      body: body === undefined ? null : JSON.stringify(body),
      signal: signal ?? null,
      credentials: 'same-origin',
      cache: 'no-store',
    }).catch((error: unknown) => {
      if (signal?.aborted) throw error;
      throw new ApiError(0, '');
    });
    if (response.ok) return response;
    if (response.status === 401 && path !== '/api/login') onLoggedOut();
    throw await failureOf(response);
  };
  const value = async (response: Response) => {
    if (response.status === 204) return undefined;
    return await response.json().catch((error: unknown) => {
      if (error instanceof SyntaxError) throw new ApiError(response.status, '', { code: NOT_THE_CONSOLE });
      throw error;
    });
  };
  return {
    open,
    get: async (path, signal) => value(await open('GET', path, undefined, signal)),
    send: async (method, path, body, signal) => value(await open(method, path, body, signal)),
  };
};
