import { Fault } from '../../core/fault.ts';
import type { HttpRequest } from '../../core/http/client.ts';
import { IF_REVISION_HEADER } from '../../core/http/metadata-revision.ts';

/**
 * What became of the metadata that a prompt brought: stored with it, refused with it because the session's has another revision,
 * ignored by a server that does not know them beside a prompt, or unknown because the prompt failed before the agent had stored it.
 */
export type ClaimOutcome = 'stored' | 'outdated' | 'ignored' | 'unknown';

/** Metadata that the agent stores in the commit of a prompt, or refuses the prompt. Only for a server with that feature. */
export type PromptClaim = {
  readonly metadata: Readonly<Record<string, unknown>>;
  /** The revision that they replace. */
  readonly ifRevision: number;
  /** Called as soon as the outcome is known, which is before the turn ends. The first call counts. */
  readonly settle: (outcome: ClaimOutcome) => void;
  readonly outcome: Promise<ClaimOutcome>;
  /**
   * For a prompt whose answer was lost: once it resolves, the prompt is stored or never will be, as it is refused should it still
   * arrive. Rejects where the agent cannot be asked. A server that does not know metadata beside a prompt keeps nothing out.
   */
  readonly keepOut: (signal: AbortSignal) => Promise<void>;
};

/** The request of a prompt: what a claim adds to it. */
type ClaimRequest = { readonly headers: HttpRequest['headers'] } & Pick<HttpRequest, 'onHead'>;

/** Sends a prompt with its claim, if it has one, and settles that with the answer. Without an answer its caller does. */
export const sendWithClaim = async <T>(
  claim: PromptClaim | undefined,
  send: (request: ClaimRequest) => Promise<T>,
): Promise<T> => {
  if (claim === undefined) return send({ headers: {} });
  try {
    return await send({
      headers: { [IF_REVISION_HEADER]: String(claim.ifRevision) },
      onHead({ status, header }) {
        if (status >= 200 && status < 300) claim.settle(header(IF_REVISION_HEADER) === null ? 'ignored' : 'stored');
      },
    });
  } catch (error) {
    if (error instanceof Fault && error.detail.kind === 'conflict') claim.settle('outdated');
    throw error;
  }
};
