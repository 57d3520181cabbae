import type { ItemVerdict } from '../judge/moderate.ts';
import type { Policy } from '../policy/policy.ts';

/** What is known of a request that got its verdicts. No text is in it. */
export type JudgedRequest = {
  readonly policy: Policy;
  readonly verdicts: readonly Pick<ItemVerdict, 'scores' | 'isCached' | 'hidden'>[];
};

/** Follows the requests for verdicts, where somebody watches the service. */
export type RequestObserver = {
  readonly describe: (request: Request, alias: string) => void;
  readonly judged: (request: Request, judged: JudgedRequest) => void;
};
