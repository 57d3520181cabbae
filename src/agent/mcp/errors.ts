export type McpProblemKind =
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
export class McpProblem extends Error {
  override readonly name = 'McpProblem';
  readonly kind: McpProblemKind;
  /** The protocol's code of an error; never a status of HTTP. */
  readonly code: number | undefined;
  /** What a program that failed wrote at its end: words of others, and never for the wire. */
  readonly lastWords: string | undefined;

  constructor(
    kind: McpProblemKind,
    message: string,
    more: { readonly code?: number; readonly lastWords?: string } = {},
  ) {
    super(message);
    this.kind = kind;
    this.code = more.code;
    this.lastWords = more.lastWords;
  }
}
