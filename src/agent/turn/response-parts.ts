import type { Clock } from '../../core/clock.ts';
import { isNestedBeyond, isRecord } from '../../core/json.ts';
import type { Publication } from '../events/publisher.ts';
import { mergeDeltas, partUpdatedEvent } from '../events/records.ts';
import { ModelError, type ModelEvent } from '../model/types.ts';
import { WITHDRAWN } from '../protocol/call-metadata.ts';
import type { EventDraft } from '../protocol/events.ts';
import { clientCallID, type Ids } from '../protocol/ids.ts';
import type { Part, ReasoningPart, TextPart, ToolPart } from '../protocol/types.ts';
import type { RequestedCall } from '../tools/tool.ts';

/** Texts, reasoning and arguments of one answer together. The longest outputs of models have about an eighth of it. */
const OUTPUT_LIMIT_CHARS = 4 * 1024 * 1024;

type StreamedPart = TextPart | ReasoningPart;
type ResponsePartsNeeds = {
  readonly ids: Ids;
  readonly clock: Clock;
  readonly sessionID: string;
  readonly messageID: string;
  /** The tools that run at the client. */
  readonly clientTools?: readonly string[];
};

/** Turns the events of one model call into message parts. */
export const createResponseParts = ({ ids, clock, sessionID, messageID, clientTools = [] }: ResponsePartsNeeds) => {
  const location = () => ({ id: ids('part'), sessionID, messageID });
  /** Parts that the current batch has changed, in the order of their ids. */
  const touched = new Map<string, Part>();
  /** The text or reasoning that is growing, and all there were. */
  let growing: StreamedPart | undefined;
  const streamed = new Map<string, StreamedPart>();
  const pending = new Map<string, ToolPart>();
  const calls: RequestedCall[] = [];
  const callIDs = new Set<string>();
  let outputChars = 0;
  const count = (text: string): void => {
    outputChars += text.length;
    if (outputChars > OUTPUT_LIMIT_CHARS)
      throw new ModelError('api', `The model answered with more than ${OUTPUT_LIMIT_CHARS} characters`);
  };

  const closeGrowing = (): EventDraft[] => {
    if (growing === undefined) return [];
    const closed: StreamedPart = { ...growing, time: { start: growing.time?.start ?? clock.now(), end: clock.now() } };
    growing = undefined;
    touched.set(closed.id, closed);
    return [partUpdatedEvent(closed, clock.now())];
  };
  const append = (type: StreamedPart['type'], delta: string): EventDraft[] => {
    count(delta);
    const before = growing !== undefined && growing.type !== type ? closeGrowing() : [];
    const isNew = growing === undefined;
    const current: StreamedPart = growing ?? { ...location(), type, text: '', time: { start: clock.now() } };
    const opened = isNew ? [partUpdatedEvent(current, clock.now())] : [];
    growing = { ...current, text: current.text + delta };
    touched.set(growing.id, growing);
    streamed.set(growing.id, growing);
    const { id: partID } = growing;
    const at = current.text.length;
    return [
      ...before,
      ...opened,
      { type: 'message.part.delta', properties: { sessionID, messageID, partID, field: 'text', delta, at } },
    ];
  };
  /** Some backends give several calls of one answer the same id, and then refuse a history with such calls. */
  const uniqueID = (given: string): string => {
    const own = callIDs.has(given) ? `${given}-${callIDs.size}` : given;
    callIDs.add(own);
    return own;
  };
  const begin = (id: string, tool: string): EventDraft[] => {
    if (pending.has(id)) return [];
    const place = location();
    const part: ToolPart = {
      ...place,
      type: 'tool',
      callID: clientTools.includes(tool) ? clientCallID(place.id) : uniqueID(id),
      tool,
      state: { status: 'pending', input: {}, raw: '' },
    };
    pending.set(id, part);
    touched.set(part.id, part);
    return [...closeGrowing(), partUpdatedEvent(part, clock.now())];
  };
  const call = ({ id, name, input, raw }: Extract<ModelEvent, { kind: 'call' }>): EventDraft[] => {
    const begun = pending.has(id) ? [] : begin(id, name);
    const known = pending.get(id);
    if (known === undefined) return begun;
    count(raw);
    pending.delete(id);
    // Nothing can store a value that is nested too deeply.
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
        return event.delta === '' ? [] : append(event.kind, event.delta);
      case 'call-begun':
        return begin(event.id, event.name);
      case 'call':
        return call(event);
      case 'finished':
        return closeGrowing();
      default:
        return event satisfies never;
    }
  };
  const factOf = (drafts: readonly EventDraft[]): Publication => {
    const parts = [...touched.values()];
    touched.clear();
    const growingID = growing?.id;
    return {
      changes: parts.map((part) => ({ kind: 'part', part, isGrowing: part.id === growingID })),
      drafts: mergeDeltas(drafts),
    };
  };
  /** The texts of the output that still counts, in their order. */
  const texts = (): readonly string[] =>
    [...streamed.values()].flatMap((part) => (part.type === 'text' ? [part.text] : []));
  return {
    take: (events: readonly ModelEvent[]): Publication => factOf(events.flatMap(draftsFor)),
    /** The text output that still counts. */
    text: (): string => texts().join(''),
    texts,
    hasCalls: (): boolean => calls.length + pending.size > 0,
    /** Hands over the requested calls. From here on the caller must end them. */
    takeCalls(): readonly RequestedCall[] {
      const broken = [...pending.values()].map((part): RequestedCall => ({ part, input: undefined, raw: '' }));
      pending.clear();
      return [...calls.splice(0), ...broken];
    },
    /**
     * Ends all open parts: calls that were not made have failed. `isRestart`: the step is restarted, and its output does not
     * count.
     */
    end(why: string, isRestart: boolean): Publication {
      const drafts = closeGrowing();
      const now = clock.now();
      for (const part of isRestart ? streamed.values() : []) {
        const empty: StreamedPart = { ...part, text: '', time: { start: part.time?.start ?? now, end: now } };
        touched.set(empty.id, empty);
        drafts.push(partUpdatedEvent(empty, now));
      }
      streamed.clear();
      for (const part of [...pending.values(), ...calls.map(({ part }) => part)]) {
        const metadata = isRestart ? WITHDRAWN : {};
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
      outputChars = 0;
      return factOf(drafts);
    },
  };
};
export type ResponseParts = ReturnType<typeof createResponseParts>;
