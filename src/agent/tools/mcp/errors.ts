export type McpErrorKind =
  /** It could not be started or reached. */
  | 'unreachable'
  /** The connection has ended. */
  | 'ended'
  | 'timeout'
  /** It answered with a protocol error or an HTTP error. */
  | 'refused'
  /** Its answer violates the protocol. */
  | 'unusable'
  | 'needs-auth';

/** A failure of a tool server. The message is our own text, never the server's. */
export class McpServerError extends Error {
  override readonly name = 'McpServerError';
  readonly kind: McpErrorKind;
  /** The JSON-RPC error code. Never an HTTP status. */
  readonly code: number | undefined;
  /** The end of a failed program's standard error. Text of others: never sent to clients. */
  readonly lastStderr: string | undefined;

  constructor(
    kind: McpErrorKind,
    message: string,
    more: { readonly code?: number; readonly lastStderr?: string } = {},
  ) {
    super(message);
    this.kind = kind;
    this.code = more.code;
    this.lastStderr = more.lastStderr;
  }
}

const OUTCOME_UNKNOWN = 'whether it was carried out is not known';
/** The JSON-RPC codes for a call that no tool has received. */
const REJECTED_CODES = new Set([-32600, -32601, -32602]);

/** The text for a model about a failed call. The model must know whether something may have changed. */
export const callErrorText = ({ kind, code, message }: McpServerError): string => {
  if (kind === 'ended') return `The tool server ended while the call was under way; ${OUTCOME_UNKNOWN}.`;
  if (kind === 'timeout')
    return `The tool server gave no answer in time, and the call was cancelled; ${OUTCOME_UNKNOWN}.`;
  if (code !== undefined && REJECTED_CODES.has(code))
    return `The tool server refused the call (error ${code}): it does not know the tool, or not with these arguments.`;
  if (kind === 'refused') return `The tool server failed the call (${message}); ${OUTCOME_UNKNOWN}.`;
  return `The tool server gave an answer that cannot be read; ${OUTCOME_UNKNOWN}.`;
};

/** The texts for a model about a call that was not sent. */
export const CALL_NOT_SENT = {
  off: 'The tool server is switched off, so this call was not made.',
  disconnected:
    'The tool server is not connected at the moment, so this call was not made. Connecting goes on; try later, or go on without it.',
} as const;
