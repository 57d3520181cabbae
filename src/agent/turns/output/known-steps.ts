import type { AgentEvent } from '../../protocol/events.ts';
import type { AssistantMessage, Part } from '../../protocol/types.ts';
import { type AnswerStep, type GrownPart, type LogEntry, logOf, stepOf } from './log.ts';

type KnownStep = { info: AssistantMessage; readonly parts: Part[] };

/**
 * What an event says to who follows a prompt: nothing, that its steps have changed, that one was completed, or that they have to
 * be read again, at once or soon, because something is missing.
 */
type Change = 'none' | 'changed' | 'completed' | 'reread' | 'gap';

const placeByID = (sorted: readonly { readonly id: string }[], id: string): number => {
  // Nearly always the last one, or one more.
  let place = sorted.length;
  while (place > 0 && (sorted[place - 1]?.id ?? '') >= id) place -= 1;
  return place;
};

/** Files that are not small are left out of events. */
const hasOmittedFile = (part: Part): boolean =>
  part.type === 'tool' &&
  part.state.status === 'completed' &&
  (part.state.attachments ?? []).some(({ url }) => url.endsWith(';omitted,'));

/** How far a part is. What was read may be newer than an event that comes later, above all one of another server. */
const progressOf = (part: Part): number => {
  if (part.type === 'tool') return { pending: 0, running: 1, completed: 2, error: 2 }[part.state.status];
  return (part.type === 'text' || part.type === 'reasoning') && part.time?.end !== undefined ? 1 : 0;
};

/** The steps of a prompt from `firstStep` on, as they are read once and as events change them from then on. */
export const createKnownSteps = (promptID: string, firstStep: number) => {
  let steps: KnownStep[] = [];
  let grown: GrownPart | undefined;

  const takeInfo = (info: AssistantMessage): Change => {
    const place = steps.findIndex((step) => step.info.id === info.id);
    const known = steps[place];
    if (known?.info.time.completed !== undefined && info.time.completed === undefined) return 'none';
    if (known !== undefined) known.info = info;
    // One before those that were read: the index of the first must stay.
    else if (info.id < (steps[0]?.info.id ?? '')) return 'none';
    else {
      const at = placeByID(
        steps.map((step) => step.info),
        info.id,
      );
      steps.splice(at, 0, { info, parts: [] });
    }
    return info.time.completed === undefined ? 'changed' : 'completed';
  };
  const partsOf = (messageID: string): Part[] | undefined => steps.findLast(({ info }) => info.id === messageID)?.parts;
  const takePart = (part: Part): Change => {
    const parts = partsOf(part.messageID);
    if (parts === undefined) return 'none';
    if (hasOmittedFile(part)) return 'reread';
    const place = placeByID(parts, part.id);
    const known = parts[place]?.id === part.id ? parts[place] : undefined;
    if (known !== undefined && progressOf(known) > progressOf(part)) return 'none';
    parts.splice(place, known === undefined ? 0 : 1, part);
    return 'changed';
  };
  const takeDelta = (given: Extract<AgentEvent, { readonly type: 'message.part.delta' }>['properties']): Change => {
    const parts = partsOf(given.messageID);
    if (parts === undefined) return 'none';
    const place = parts.findLastIndex(({ id }) => id === given.partID);
    const part = parts[place];
    if (part?.type !== 'text' && part?.type !== 'reasoning') return 'gap';
    if (given.at > part.text.length) return 'gap';
    const piece = given.delta.slice(part.text.length - given.at);
    // The text was read after that.
    if (piece === '') return 'none';
    parts[place] = { ...part, text: part.text + piece };
    grown = { partID: part.id, piece };
    return 'changed';
  };
  return {
    /** Replaces all that is known. */
    load(read: readonly AnswerStep[]): void {
      steps = read.map(({ info, parts }) => ({ info, parts: [...parts] }));
      grown = undefined;
    },
    take(event: AgentEvent): Change {
      switch (event.type) {
        case 'message.updated': {
          const { info } = event.properties;
          return info.role === 'assistant' && info.parentID === promptID ? takeInfo(info) : 'none';
        }
        case 'message.part.updated':
          return takePart(event.properties.part);
        case 'message.part.delta':
          return takeDelta(event.properties);
        case 'message.removed':
        case 'message.part.removed':
          return partsOf(event.properties.messageID) === undefined ? 'none' : 'reread';
        default:
          return 'none';
      }
    },
    /** Steps that are complete are not needed again once they were read. */
    entriesAfter(after: number, until: number | undefined): readonly LogEntry[] {
      const from = Math.max(0, stepOf(after) - firstStep);
      return logOf(steps.slice(from), { firstStep: firstStep + from, after, until, grown });
    },
    last: (): AnswerStep | undefined => steps.at(-1),
  };
};
