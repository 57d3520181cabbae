import type { ItemVerdict } from '../judge/types.ts';
import type { Policy } from '../policy/policy.ts';

/** What is known of a request that got its verdicts. No text is in it. */
export type JudgedRequest = {
  readonly policy: Policy;
  readonly verdicts: readonly Pick<ItemVerdict, 'scores' | 'isCached' | 'hidden'>[];
};

/** Follows one request for verdicts, where somebody watches the service. */
export type RequestObserver = {
  readonly describe: (alias: string) => void;
  readonly judged: (judged: JudgedRequest) => void;
};

/** A route that gives verdicts. */
export type VerdictRoute = (request: Request, observer?: RequestObserver) => Promise<Response>;
