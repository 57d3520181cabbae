import type { CoreFault } from '../core/fault.ts';
import { Fault } from '../core/fault.ts';
import type { ErrorResponses } from '../core/http/handler.ts';
import { clientError, errorResponse, internalErrorResponse, jsonResponse, serverError } from '../core/http/response.ts';
import type { Log } from '../core/log.ts';
import type { Decision, ServicePart } from './protocol.ts';

/** Every failure that the console expects. */
export type ConsoleFault =
  | CoreFault
  | { readonly kind: 'forbidden'; readonly message: string }
  | { readonly kind: 'wrong-login' }
  /** What is asked for needs a setting, which `message` names. */
  | { readonly kind: 'not-configured'; readonly message: string }
  /** `limit` answers to chats of this account are being written. */
  | { readonly kind: 'too-many-answers'; readonly limit: number }
  /** No whole answer came. `reason` is our own sentence or the platform's code. */
  | { readonly kind: 'service-down'; readonly part: ServicePart; readonly reason: string }
  /** The service answered with a status of failure. `message` is the service's, made safe to show. */
  | { readonly kind: 'service-refused'; readonly part: ServicePart; readonly status: number; readonly message: string }
  /** The request is not open as it was shown. */
  | { readonly kind: 'not-decided'; readonly code: NotDecided; readonly decided?: Decision };

/** Why a person's decision did not count. */
export type NotDecided = 'already_decided' | 'ended' | 'arguments_changed';

/** Logs what nobody expected, without its text. */
export const bugLogger =
  (log: Log) =>
  (error: unknown): void =>
    log('error', 'bug', { reason: error instanceof Error ? error.name : typeof error });

export const isConsoleFault = (error: unknown): error is Fault<ConsoleFault> => error instanceof Fault;

/** What a person sees whose decision did not count. */
export const NOT_DECIDED_TEXTS: { readonly [Code in NotDecided]: string } = {
  already_decided: 'Someone else has decided this request before',
  ended: 'This request is no longer open: its time was over, or its run has ended',
  arguments_changed: 'The arguments are not those that were shown: look at the request again',
};

/** The settings of the console that hold the key of each service. */
export const SETTING_OF: { readonly [Part in ServicePart]: string } = {
  gateway: 'GATEWAY_ADMIN_KEY',
  agent: 'AGENT_SERVER_USERNAME and AGENT_SERVER_PASSWORD',
  bridge: 'CONSOLE_BRIDGE_KEY',
};

/** The settings of the console that hold the address of each service. */
export const ADDRESS_SETTING_OF: { readonly [Part in ServicePart]: string } = {
  gateway: 'CONSOLE_GATEWAY_URL',
  agent: 'CONSOLE_AGENT_URLS',
  bridge: 'CONSOLE_BRIDGE_URL',
};

const refusalResponse = (part: ServicePart, status: number, message: string): Response => {
  if (status === 401 || status === 403)
    return serverError(502, 'service_refused', `The ${part} refuses the console's key: check ${SETTING_OF[part]}`);
  if (status >= 400 && status < 500 && status !== 429) return clientError(status, 'refused', message);
  return serverError(status === 429 || status === 503 ? 503 : 502, 'service_failed', message);
};

/** The one place where a failure of the console becomes an answer. */
export const consoleErrorResponse = (detail: ConsoleFault): Response => {
  switch (detail.kind) {
    case 'unauthorized':
      return clientError(401, 'login_required', 'Log in first: POST /api/login with name and password');
    case 'wrong-login':
      return clientError(401, 'wrong_login', 'Name or password is wrong');
    case 'forbidden':
      return clientError(403, 'forbidden', detail.message);
    case 'not-configured':
      return clientError(404, 'not_configured', detail.message);
    case 'too-many-answers':
      return serverError(
        429,
        'too_many_answers',
        `${detail.limit} answers to your chats are being written: wait until one has ended, or stop one in its chat`,
      );
    case 'service-down':
      return serverError(502, 'service_down', `The ${detail.part} does not answer: ${detail.reason}`);
    case 'service-refused':
      return refusalResponse(detail.part, detail.status, detail.message);
    case 'not-decided': {
      const { code, decided } = detail;
      const message = NOT_DECIDED_TEXTS[code];
      const error = { message, type: 'invalid_request_error', param: null, code };
      return jsonResponse(409, { error: { ...error, ...(decided === undefined ? {} : { decided }) } });
    }
    default:
      return errorResponse(detail);
  }
};

/** How the console answers failures: in the shape of the other services. */
export const CONSOLE_ERROR_RESPONSES = {
  forFault: consoleErrorResponse,
  forBug: internalErrorResponse,
} satisfies ErrorResponses;
