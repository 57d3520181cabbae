import { batchJson, entryJson, judgingBatches, type Shown } from '../../harness/batches.ts';
import { resultsOf } from '../../harness/read-answer.ts';
import { type Answer, gatewayOver } from '../../harness/world.ts';

/** The texts of a request. */
export const INPUT = ['good morning', 'how are you', 'see you soon'] as const;

/** What the judge finds in a text that it is shown alone. */
export const ALONE = { HR: 17 };

/** A gateway that asks about several texts at once, and `beside` answers that. */
export const batching = (beside: Answer, variables: Readonly<Record<string, string>> = {}) =>
  gatewayOver(
    judgingBatches(beside, () => ALONE),
    { variables: { JUDGE_BATCH: '8', ...variables } },
  );

/** The score of each text. */
export const harassments = async (response: Response) =>
  (await resultsOf(response)).map(({ scores }) => scores.harassment);
/** What a judge writes about the texts that it is shown. */
export type Writes = (shown: readonly Shown[]) => string;

/** A judge that writes this about each text. */
export const each =
  (write: (one: Shown, index: number) => string): Writes =>
  (shown) =>
    batchJson(shown.map(write));

/** A judge that finds nothing. */
export const clean = each(({ nonce }) => entryJson(nonce));
