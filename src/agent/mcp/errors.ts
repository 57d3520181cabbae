export type McpErrorKind =
  /** It could not be started or reached. */
  | 'unreachable'
  /** It was there, and the connection is over. */
  | 'ended'
  | 'timeout'
  /** It answered with an error of the protocol or of HTTP. */
  | 'refused'
  /** Its answer is none that the protocol knows. */
  | 'unusable'
  | 'needs-auth';

/** What is wrong with a tool server. The message is our own words, never the server's. */
export class McpServerError extends Error {
  override readonly name = 'McpProblem';
  readonly kind: McpErrorKind;
  /** The protocol's code of an error; never a status of HTTP. */
  readonly code: number | undefined;
  /** What a program that failed wrote at its end: words of others, and never for the wire. */
  readonly lastWords: string | undefined;

  constructor(kind: McpErrorKind, message: string, more: { readonly code?: number; readonly lastWords?: string } = {}) {
    super(message);
    this.kind = kind;
    this.code = more.code;
    this.lastWords = more.lastWords;
  }
}

const UNKNOWN = 'whether it was carried out is not known';
/** The protocol's codes for a call that no tool has seen. */
const NOT_TAKEN = new Set([-32600, -32601, -32602]);

/** What a model is told of a call that came to nothing. It must know whether something may have been changed. */
export const callWords = ({ kind, code, message }: McpServerError): string => {
  if (kind === 'ended') return `The tool server ended while the call was under way; ${UNKNOWN}.`;
  if (kind === 'timeout') return `The tool server gave no answer in time, and the call was cancelled; ${UNKNOWN}.`;
  if (code !== undefined && NOT_TAKEN.has(code))
    return `The tool server refused the call (error ${code}): it does not know the tool, or not with these arguments.`;
  if (kind === 'refused') return `The tool server failed the call (${message}); ${UNKNOWN}.`;
  return `The tool server gave an answer that cannot be read; ${UNKNOWN}.`;
};

/** What a model is told of a call that was never sent. */
export const UNSENT = {
  off: 'The tool server is switched off, so this call was not made.',
  away: 'The tool server is not connected at the moment, so this call was not made. Connecting goes on; try later, or go on without it.',
} as const;
