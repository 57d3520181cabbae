import type { Fact } from './events/publisher.ts';
import type { EventDraft } from './protocol/events.ts';
import type { Part } from './protocol/types.ts';
import { toldPart } from './told-part.ts';

/** The event that tells a part as it is now, but for the content of a large file. */
export const partUpdated = (part: Part, time: number): EventDraft => ({
  type: 'message.part.updated',
  properties: { sessionID: part.sessionID, part: toldPart(part), time },
});

/** A part kept and told. */
export const partFact = (part: Part, time: number): Fact => ({
  changes: [{ kind: 'part', part }],
  drafts: [partUpdated(part, time)],
});

/** The same with deltas of one part that follow each other as one delta. */
export const withMergedDeltas = (drafts: readonly EventDraft[]): readonly EventDraft[] => {
  const result: EventDraft[] = [];
  for (const draft of drafts) {
    const last = result.at(-1);
    if (
      draft.type === 'message.part.delta' &&
      last?.type === 'message.part.delta' &&
      last.properties.partID === draft.properties.partID
    ) {
      const delta = last.properties.delta + draft.properties.delta;
      result[result.length - 1] = { ...draft, properties: { ...draft.properties, delta } };
    } else result.push(draft);
  }
  return result;
};
