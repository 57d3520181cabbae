import type { AgentEventRecord, AssistantInfo, MessageRecord, PartRecord } from '../../agent/schema.ts';

type TextPart = Extract<PartRecord, { readonly type: 'text' | 'reasoning' }>;
type CallPart = Extract<PartRecord, { readonly type: 'tool' }>;

/** A text as it grows. Its pieces are only ever added to. */
export type GrowingText = {
  readonly type: 'text' | 'reasoning';
  readonly id: string;
  readonly pieces: string[];
  chars: number;
  hasEnded: boolean;
  /** All events of it have come, so that the next piece belongs at its end. */
  isGapless: boolean;
};

/** A part of a step. Parts that are not shown keep their place. */
export type StepPart = GrowingText | CallPart | { readonly type: 'other'; readonly id: string };

/** A message of the model, with its parts in the order of their ids. */
export type Step = { info: AssistantInfo; readonly parts: StepPart[] };

/** The messages that answer one prompt, as events and lists of the agent say. */
export type StepReducer = {
  readonly steps: readonly Step[];
  readonly promptID: () => string | undefined;
  readonly setPrompt: (id: string) => void;
  readonly applyEvent: (event: AgentEventRecord) => void;
  /** Messages as the agent lists them: never older than the last gap, but maybe older than the last event. */
  readonly applyList: (records: readonly MessageRecord[]) => void;
  /** Events were lost: later ones wait for a list. */
  readonly noteGap: () => void;
};

/** Ids ascend with time, so that events and lists give the same order. */
const insertByID = <T>(items: T[], item: T, idOf: (item: T) => string): void => {
  const before = items.findLastIndex((other) => idOf(other) < idOf(item));
  items.splice(before + 1, 0, item);
};

const newText = ({ type, id }: TextPart): GrowingText => ({
  ...{ type, id, pieces: [], chars: 0 },
  ...{ hasEnded: false, isGapless: false },
});

/** Brings a text to a state of it. One that is shorter is older, or its end was trimmed. */
const growText = (known: GrowingText, { text, time }: TextPart): void => {
  if (text.length > known.chars) {
    known.pieces.push(known.chars === 0 ? text : text.slice(known.chars));
    known.chars = text.length;
  }
  known.hasEnded ||= time?.end !== undefined;
};

const isShown = (part: PartRecord): part is TextPart =>
  (part.type === 'text' || part.type === 'reasoning') && part.synthetic !== true && part.ignored !== true;

const isBefore = (part: CallPart, known: CallPart): boolean => {
  const order = { pending: 0, running: 1, completed: 2, error: 2 } as const;
  return order[part.state.status] < order[known.state.status];
};

/** Creates a reducer for a prompt that is not known yet. */
export const createStepReducer = (): StepReducer => {
  const steps: Step[] = [];
  let promptID: string | undefined;
  let held: AgentEventRecord[] | undefined;

  const stepOf = (id: string): Step | undefined => steps.find(({ info }) => info.id === id);
  const applyInfo = (info: MessageRecord['info']): void => {
    if (info.role !== 'assistant' || info.parentID !== promptID || info.summary === true) return;
    const known = stepOf(info.id);
    if (known === undefined) insertByID(steps, { info, parts: [] }, (step) => step.info.id);
    else if (known.info.time.completed === undefined || info.time.completed !== undefined) known.info = info;
  };
  const applyPart = (part: PartRecord, isListed: boolean): void => {
    const parts = stepOf(part.messageID)?.parts;
    if (parts === undefined) return;
    const place = parts.findIndex(({ id }) => id === part.id);
    const known = parts[place];
    const add = (added: StepPart): void => insertByID(parts, added, ({ id }) => id);
    if (part.type === 'tool') {
      if (known === undefined) add(part);
      else if (known.type === 'tool' && !isBefore(part, known)) parts[place] = part;
    } else if (isShown(part)) {
      const text = known?.type === 'text' || known?.type === 'reasoning' ? known : newText(part);
      if (known === undefined) add(text);
      // A text that is not complete may have grown since the list was made.
      if (isListed && text.isGapless && part.time?.end === undefined) return;
      if (!isListed) text.isGapless = part.text.length >= text.chars;
      growText(text, part);
    } else if (known === undefined) add({ type: 'other', id: part.id });
  };
  const applyDelta = ({ messageID, partID, delta }: { messageID: string; partID: string; delta: string }): void => {
    const text = stepOf(messageID)?.parts.findLast(({ id }) => id === partID);
    if ((text?.type !== 'text' && text?.type !== 'reasoning') || !text.isGapless || text.hasEnded) return;
    text.pieces.push(delta);
    text.chars += delta.length;
  };
  const applyEvent = (event: AgentEventRecord): void => {
    if (held !== undefined) held.push(event);
    else if (event.type === 'message.updated') applyInfo(event.properties.info);
    else if (event.type === 'message.part.updated') applyPart(event.properties.part, false);
    else if (event.type === 'message.part.delta' && event.properties.field === 'text') applyDelta(event.properties);
  };
  return {
    steps,
    promptID: () => promptID,
    setPrompt(id) {
      promptID ??= id;
    },
    applyEvent,
    applyList(records) {
      for (const { info, parts } of records) {
        applyInfo(info);
        for (const part of parts) applyPart(part, true);
      }
      const events = held ?? [];
      held = undefined;
      for (const event of events) applyEvent(event);
    },
    noteGap() {
      for (const { parts } of steps)
        for (const part of parts) if (part.type === 'text' || part.type === 'reasoning') part.isGapless = false;
      held ??= [];
    },
  };
};
