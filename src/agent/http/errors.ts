import { type CoreFault, Fault } from '../../core/fault.ts';
import type { ErrorResponses } from '../../core/http/handler.ts';
import { jsonResponse } from '../../core/http/response.ts';
import type { AlwaysRefusal, PermissionDecision } from '../protocol/permissions.ts';
import { isStoreFailure, STORE_TROUBLES, type StoreTrouble } from '../store/errors.ts';
import { toMessageError } from '../turn/errors.ts';
import { REFUSALS, type TurnRefusal } from '../turns/refusals.ts';

/** Every failure that the agent server expects. */
type AgentFault =
  | CoreFault
  /** `reason` is our own text, for the log too. */
  | { readonly kind: 'store-failed'; readonly trouble: StoreTrouble; readonly reason: string }
  /** A permission request that was decided before. */
  | { readonly kind: 'permission-decided'; readonly decision: PermissionDecision }
  /** A path of OpenAI's API, which the bridge answers. */
  | { readonly kind: 'openai-path' }
  /** A path of OpenCode 2.x. */
  | { readonly kind: 'newer-api' }
  /** A permission request is about other arguments than the client has seen. */
  | { readonly kind: 'arguments-changed' }
  /** A reply `always` to a request whose call needs a decision of its own. */
  | { readonly kind: 'always-refused'; readonly reason: AlwaysRefusal }
  | TurnRefusal;

/** The fault for a store that does not work. */
export const storeFault = (trouble: StoreTrouble): Fault<AgentFault> =>
  new Fault<AgentFault>({ kind: 'store-failed', trouble, reason: STORE_TROUBLES[trouble] });

/** The fault for a reply to a permission request that was decided before: it says by whom, when, and what. */
export const permissionDecided = (decision: PermissionDecision): Fault<AgentFault> =>
  new Fault<AgentFault>({ kind: 'permission-decided', decision });
/** The fault for a path of OpenAI's API. */
export const openAiPath = (): Fault<AgentFault> => new Fault<AgentFault>({ kind: 'openai-path' });
/** The fault for a path of OpenCode 2.x, all of whose paths begin with `/api/`. */
export const newerApi = (): Fault<AgentFault> => new Fault<AgentFault>({ kind: 'newer-api' });
/** The fault for a reply with another hash than that of the request's arguments. */
export const argumentsChanged = (): Fault<AgentFault> => new Fault<AgentFault>({ kind: 'arguments-changed' });

/** The fault for a reply `always` where each call needs a decision of its own. */
export const alwaysRefused = (reason: AlwaysRefusal): Fault<AgentFault> =>
  new Fault<AgentFault>({ kind: 'always-refused', reason });

const OPENAI_PATH =
  "This server answers OpenCode's API, not OpenAI's: give this client the address of the bridge, such as http://127.0.0.1:4100/v1";

const NEWER_API =
  "This server answers OpenCode's 1.x API (/session, /event, /permission and so on), and this path is of 2.x. Use OpenCode 1.18, or @opencode-ai/sdk without the methods of client.v2. GET /doc lists all paths";

const ALWAYS_REFUSED: Readonly<Record<AlwaysRefusal, string>> = {
  recharge: 'the call moves money',
  destructive: 'its server says that the tool may destroy or overwrite something',
  listed: 'permission_once_only in the configuration lists the tool',
};

const DECIDED = {
  once: 'was allowed once',
  always: 'was allowed with "always"',
  reject: 'was rejected',
  expired: 'ended without an answer',
  cancelled: 'ended with its run, or with the rejection of another call',
} as const;

/** What a second person learns about a decision. */
const toDecided = ({ reply, by, through, message, at }: PermissionDecision) => ({ reply, by, through, message, at });

/**
 * A full disk is 507 and not 503: that would promise that the same request succeeds in a moment. The codes are for programs,
 * such as the bridge.
 */
const STORE_ERRORS: Readonly<Record<StoreTrouble, { status: number; name: string; code: string; next: string }>> = {
  unreachable: { status: 503, name: 'ServiceUnavailable', code: 'store_unreachable', next: ' at the moment' },
  // Not 503, after which the bridge would send a prompt to another server: there would be two.
  unanswered: {
    status: 504,
    name: 'StoreUnanswered',
    code: 'store_unanswered',
    next: '. Look whether it has before you send it again',
  },
  locked: { status: 503, name: 'ServiceUnavailable', code: 'store_locked', next: '' },
  'disk-full': {
    status: 507,
    name: 'InsufficientStorage',
    code: 'disk_full',
    next: '. Its operator has to free space',
  },
  'disk-failing': { status: 503, name: 'ServiceUnavailable', code: 'disk_failing', next: '' },
  damaged: {
    status: 500,
    name: 'StoreDamaged',
    code: 'store_damaged',
    next: '. Its operator has to restore a copy',
  },
};
const RETRY_AFTER_MS = 1000;

const storeErrorBody = (trouble: StoreTrouble) => {
  const { name, code, next } = STORE_ERRORS[trouble];
  return { name, data: { message: `${STORE_TROUBLES[trouble]}${next}`, code } };
};

/** The body of a prompt's answer that failed after its headers were sent. */
export const toFailureBody = (error: unknown, providerID: string): unknown =>
  isStoreFailure(error) ? storeErrorBody(error.trouble) : toMessageError(error, providerID);

/** An error in the shape that OpenCode's clients know. */
const namedError = (
  status: number,
  name: string,
  data: Readonly<Record<string, unknown>>,
  headers: Readonly<Record<string, string>> = {},
): Response => jsonResponse(status, { name, data }, headers);

const REFUSAL_NAMES = {
  400: 'BadRequest',
  404: 'NotFoundError',
  409: 'TurnConflictError',
  503: 'ServiceUnavailable',
} as const;

const retryAfter = (ms: number) => ({ 'retry-after': String(Math.max(1, Math.ceil(ms / 1000))) });

/** The one place where a fault of the agent server becomes a response. */
const toErrorResponse = (detail: AgentFault): Response => {
  switch (detail.kind) {
    case 'store-failed': {
      const { name, data } = storeErrorBody(detail.trouble);
      const { status } = STORE_ERRORS[detail.trouble];
      return namedError(status, name, data, status === 503 ? retryAfter(RETRY_AFTER_MS) : {});
    }
    case 'unauthorized':
      return namedError(
        401,
        'UnauthorizedError',
        { message: 'Send the user name and password of this server as Basic authentication' },
        { 'www-authenticate': 'Basic realm="gatehouse agent", charset="UTF-8"' },
      );
    case 'bad-input': {
      const { code, message, param } = detail;
      return namedError(400, 'BadRequest', { message, kind: 'Payload', code, path: param });
    }
    // Not thrown in this service, where an unknown model is `bad-input`.
    case 'model-not-found':
    case 'not-found':
      return namedError(404, 'NotFoundError', { message: 'hint' in detail ? detail.hint : 'No such model' });
    case 'openai-path': {
      // Clients of OpenAI show what is at `error.message`, and of anything else the status alone.
      const error = { message: OPENAI_PATH, type: 'invalid_request_error', param: null, code: null };
      return jsonResponse(404, { name: 'NotFoundError', data: { message: OPENAI_PATH }, error });
    }
    case 'newer-api':
      // Clients of 2.x read `_tag` and `message`. By the status some of them find out that the server speaks 1.x.
      return jsonResponse(404, {
        name: 'NotFoundError',
        data: { message: NEWER_API, code: 'newer_api' },
        _tag: 'NotFoundError',
        message: NEWER_API,
      });
    case 'permission-decided': {
      // The status that OpenCode's clients know for a request that is not open.
      const { decision } = detail;
      const message = `The permission request ${DECIDED[decision.reply]}, so this reply has no effect`;
      return namedError(404, 'NotFoundError', { message, code: 'already_decided', decided: toDecided(decision) });
    }
    case 'arguments-changed':
      return namedError(409, 'ArgumentsChangedError', {
        message: 'argumentsHash: the permission request has other arguments; nothing was decided. Read it again',
        code: 'arguments_changed',
      });
    case 'always-refused':
      return namedError(403, 'AlwaysRefusedError', {
        message: `reply: each such call needs a decision of its own, as ${ALWAYS_REFUSED[detail.reason]}; nothing was decided. Answer "once" or "reject"`,
        code: 'always_refused',
      });
    case 'conflict':
      return namedError(409, 'SessionBusyError', { message: detail.message });
    case 'turn-refused': {
      const { code, message, more } = detail;
      const status = REFUSALS[code];
      const headers = status === 503 ? retryAfter(RETRY_AFTER_MS) : {};
      return namedError(status, REFUSAL_NAMES[status], { message, code, ...more }, headers);
    }
    case 'method-not-allowed': {
      const allow = detail.allow.join(', ');
      return namedError(405, 'MethodNotAllowed', { message: `This path answers ${allow}` }, { allow });
    }
    case 'body-too-slow':
      return namedError(408, 'RequestTimeout', { message: 'The request body did not arrive in time' });
    case 'body-too-large': {
      const { limitBytes, message = `The body may have ${limitBytes} bytes at most` } = detail;
      return namedError(413, 'PayloadTooLarge', { message });
    }
    case 'unsupported-media-type':
      return namedError(415, 'UnsupportedMediaType', { message: 'Send the body as application/json' });
    case 'unavailable':
      return namedError(503, 'ServiceUnavailable', { message: detail.message }, retryAfter(detail.retryAfterMs));
    case 'rate-limited':
    case 'overloaded':
      return namedError(503, 'ServiceUnavailable', { message: 'Too many requests' }, retryAfter(detail.retryAfterMs));
    case 'backend-timeout':
      return namedError(502, 'BackendError', { message: 'Something behind this server did not answer' });
    case 'client-left':
      return new Response(null, { status: 499 });
    default:
      return detail satisfies never;
  }
};

/** How faults and bugs are answered, in the shape that OpenCode's clients expect. */
export const AGENT_ERROR_RESPONSES = {
  forFault: toErrorResponse,
  forBug: () => namedError(500, 'UnknownError', { message: 'The server failed. The request id leads to the log line' }),
} satisfies ErrorResponses;
