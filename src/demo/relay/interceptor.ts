import type { Run } from './idempotency.ts';

/** A received request, whatever the relay answered. */
export type SeenRequest = {
  readonly method: string;
  /** Path and query as they were sent. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly at: number;
};

type MaybeResponse = Response | undefined | Promise<Response | undefined>;

/** The steps of one balance change. A response replaces the relay's own. */
export type BalanceHooks = {
  /** Before the relay looks at the request. */
  readonly before: () => MaybeResponse;
  /** After all checks, before the credit. */
  readonly beforeCredit: () => Promise<void>;
  /** Whether the credit gets a line in the history. */
  readonly hasHistory: boolean;
  /** After the credit, before its idempotency key is completed. */
  readonly afterCredit: (run: Run) => MaybeResponse;
  /** Before a successful response, a replayed one included. */
  readonly beforeResponse: () => Response | undefined;
};

/** Watches the relay's requests and can change their outcome: how tests make the relay fail. */
export type RelayInterceptor = {
  /** The target as it was sent, which a `Request` URL no longer shows; undefined when unknown. */
  readonly targetOf: (request: Request) => string | undefined;
  readonly onRequest: (request: SeenRequest) => void;
  /** A route that no tool may call was called, such as `GET proxies`. */
  readonly onForbidden: (pattern: string) => void;
  /** Answers every request but balance changes. `answer(true)` answers as usual without any change. */
  readonly answerRoute: (
    request: Request,
    target: string,
    answer: (isIgnored: boolean) => Promise<Response>,
  ) => Promise<Response>;
  /** Undefined for a balance change that takes its usual course. */
  readonly balanceHooks: (request: Request, target: string) => BalanceHooks | undefined;
};
