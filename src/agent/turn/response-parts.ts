import type { Clock } from '../../core/clock.ts';
import { isRecord } from '../../core/json.ts';
import type { Publication } from '../events/publisher.ts';
import { mergeDeltas, partUpdatedEvent } from '../events/records.ts';
import type { ModelEvent } from '../model/types.ts';
import type { EventDraft } from '../protocol/events.ts';
import type { Ids } from '../protocol/ids.ts';
import { isNestedBeyond } from '../protocol/request-schemas.ts';
import { type Part, type ReasoningPart, type TextPart, type ToolPart, WITHDRAWN } from '../protocol/types.ts';
import type { RequestedCall } from '../tools/tool.ts';

type StreamedPart = TextPart | ReasoningPart;
type ResponsePartsNeeds = {
  readonly ids: Ids;
  readonly clock: Clock;
  readonly sessionID: string;
  readonly messageID: string;
};

/** Makes parts of what a model says in one step. */
export const createResponseParts = ({ ids, clock, sessionID, messageID }: ResponsePartsNeeds) => {
  const placed = () => ({ id: ids('part'), sessionID, messageID });
  /** Parts that the batch at hand has changed, in the order of their ids. */
  const touched = new Map<string, Part>();
  /** What is being said at the moment, and all that was. */
  let spoken: StreamedPart | undefined;
  const said = new Map<string, StreamedPart>();
  const pending = new Map<string, ToolPart>();
  const calls: RequestedCall[] = [];
  const callIDs = new Set<string>();

  const closeSpoken = (): EventDraft[] => {
    if (spoken === undefined) return [];
    const closed: StreamedPart = { ...spoken, time: { start: spoken.time?.start ?? clock.now(), end: clock.now() } };
    spoken = undefined;
    touched.set(closed.id, closed);
    return [partUpdatedEvent(closed, clock.now())];
  };
  const speak = (type: StreamedPart['type'], delta: string): EventDraft[] => {
    const before = spoken !== undefined && spoken.type !== type ? closeSpoken() : [];
    const isNew = spoken === undefined;
    const current: StreamedPart = spoken ?? { ...placed(), type, text: '', time: { start: clock.now() } };
    const opened = isNew ? [partUpdatedEvent(current, clock.now())] : [];
    spoken = { ...current, text: current.text + delta };
    touched.set(spoken.id, spoken);
    said.set(spoken.id, spoken);
    const { id: partID } = spoken;
    return [
      ...before,
      ...opened,
      { type: 'message.part.delta', properties: { sessionID, messageID, partID, field: 'text', delta } },
    ];
  };
  /** Some backends give several calls of one answer the same id, and then refuse to be told of them. */
  const ownID = (given: string): string => {
    const own = callIDs.has(given) ? `${given}-${callIDs.size}` : given;
    callIDs.add(own);
    return own;
  };
  const begin = (id: string, tool: string): EventDraft[] => {
    if (pending.has(id)) return [];
    const part: ToolPart = {
      ...placed(),
      type: 'tool',
      callID: ownID(id),
      tool,
      state: { status: 'pending', input: {}, raw: '' },
    };
    pending.set(id, part);
    touched.set(part.id, part);
    return [...closeSpoken(), partUpdatedEvent(part, clock.now())];
  };
  const call = ({ id, name, input, raw }: Extract<ModelEvent, { kind: 'call' }>): EventDraft[] => {
    const begun = pending.has(id) ? [] : begin(id, name);
    const known = pending.get(id);
    if (known === undefined) return begun;
    pending.delete(id);
    // What lies too deep can be written nowhere.
    const given = isRecord(input) && !isNestedBeyond(input) ? input : undefined;
    const part: ToolPart = { ...known, tool: name, state: { status: 'pending', input: given ?? {}, raw } };
    touched.set(part.id, part);
    calls.push({ part, input: given, raw });
    return [...begun, partUpdatedEvent(part, clock.now())];
  };
  const draftsFor = (event: ModelEvent): EventDraft[] => {
    switch (event.kind) {
      case 'text':
      case 'reasoning':
        return event.delta === '' ? [] : speak(event.kind, event.delta);
      case 'call-begun':
        return begin(event.id, event.name);
      case 'call':
        return call(event);
      case 'finished':
        return closeSpoken();
      default:
        return event satisfies never;
    }
  };
  const factOf = (drafts: readonly EventDraft[]): Publication => {
    const parts = [...touched.values()];
    touched.clear();
    const growingID = spoken?.id;
    return {
      changes: parts.map((part) => ({ kind: 'part', part, isGrowing: part.id === growingID })),
      drafts: mergeDeltas(drafts),
    };
  };
  return {
    take: (events: readonly ModelEvent[]): Publication => factOf(events.flatMap(draftsFor)),
    /** What was said to be read, as far as it still counts. */
    text: (): string => [...said.values()].map((part) => (part.type === 'text' ? part.text : '')).join(''),
    hasCalls: (): boolean => calls.length + pending.size > 0,
    /** The calls that were asked for. Whoever takes them ends them: from here on they are no matter of these parts. */
    handOver(): readonly RequestedCall[] {
      const broken = [...pending.values()].map((part): RequestedCall => ({ part, input: undefined, raw: '' }));
      pending.clear();
      return [...calls.splice(0), ...broken];
    },
    /**
     * Ends what is open, because no more comes: calls that were not made have failed. `isBegunAnew`: the step is begun anew,
     * and what was said in it counts for nothing.
     */
    end(why: string, isBegunAnew: boolean): Publication {
      const drafts = closeSpoken();
      const now = clock.now();
      for (const part of isBegunAnew ? said.values() : []) {
        const empty: StreamedPart = { ...part, text: '', time: { start: part.time?.start ?? now, end: now } };
        touched.set(empty.id, empty);
        drafts.push(partUpdatedEvent(empty, now));
      }
      said.clear();
      for (const part of [...pending.values(), ...calls.map((asked) => asked.part)]) {
        const metadata = isBegunAnew ? WITHDRAWN : {};
        const { input } = part.state;
        const failed: ToolPart = {
          ...part,
          state: { status: 'error', input, error: why, metadata, time: { start: now, end: now } },
        };
        touched.set(failed.id, failed);
        drafts.push(partUpdatedEvent(failed, now));
      }
      pending.clear();
      calls.length = 0;
      callIDs.clear();
      return factOf(drafts);
    },
  };
};
export type ResponseParts = ReturnType<typeof createResponseParts>;
