import type { AssistantInfo, MessageRecord, PartRecord } from '../../agent/schema.ts';
import type { AgentEventRecord } from './feed.ts';

type TextPart = Extract<PartRecord, { readonly type: 'text' | 'reasoning' }>;
type CallPart = Extract<PartRecord, { readonly type: 'tool' }>;

/** A text as it grows. It is only ever added to. */
export type GrowingText = {
  readonly type: 'text' | 'reasoning';
  readonly id: string;
  text: string;
  hasEnded: boolean;
  /** All events of it have come, so that the next piece belongs at its end. */
  isGapless: boolean;
};

/** A part of a step. Parts that are not shown keep their place. */
type StepPart = GrowingText | CallPart | { readonly type: 'other'; readonly id: string };

/** A message of the model, with its parts in the order of their ids. */
export type Step = { info: AssistantInfo; readonly parts: StepPart[] };

/** The messages that answer one prompt, as events and lists of the agent say. */
export type PromptSteps = {
  readonly steps: Step[];
  /** Undefined while it is not known. */
  promptID: string | undefined;
  /** Events since a gap: they wait for a list. */
  held: AgentEventRecord[] | undefined;
};

/** Whether a part is a text that is shown. */
export const isText = (part: StepPart | undefined): part is GrowingText =>
  part?.type === 'text' || part?.type === 'reasoning';

/** Ids ascend with time, so that events and lists give the same order. */
const insertByID = <T>(items: T[], item: T, idOf: (item: T) => string): void => {
  const before = items.findLastIndex((other) => idOf(other) < idOf(item));
  items.splice(before + 1, 0, item);
};

/** Brings a text to a state of it. One that is shorter is older, or its end was trimmed. */
const growText = (known: GrowingText, { text, time }: TextPart): void => {
  if (text.length > known.text.length) known.text += text.slice(known.text.length);
  known.hasEnded ||= time?.end !== undefined;
};

const isShown = (part: PartRecord): part is TextPart =>
  (part.type === 'text' || part.type === 'reasoning') && part.synthetic !== true && part.ignored !== true;

const ORDER = { pending: 0, running: 1, completed: 2, error: 2 } as const;

const stepOf = ({ steps }: PromptSteps, id: string): Step | undefined => steps.find(({ info }) => info.id === id);

/** Returns whether it is of the answer, as the others do. */
const applyInfo = (answer: PromptSteps, info: MessageRecord['info']): boolean => {
  if (info.role !== 'assistant' || info.parentID !== answer.promptID || info.summary === true) return false;
  const known = stepOf(answer, info.id);
  if (known === undefined) insertByID(answer.steps, { info, parts: [] }, (step) => step.info.id);
  else if (known.info.time.completed === undefined || info.time.completed !== undefined) known.info = info;
  return true;
};

const applyPart = (answer: PromptSteps, part: PartRecord, isListed: boolean): boolean => {
  const parts = stepOf(answer, part.messageID)?.parts;
  if (parts === undefined) return false;
  const place = parts.findIndex(({ id }) => id === part.id);
  const known = parts[place];
  const add = (added: StepPart): void => insertByID(parts, added, ({ id }) => id);
  if (part.type === 'tool') {
    if (known === undefined) add(part);
    else if (known.type === 'tool' && ORDER[part.state.status] >= ORDER[known.state.status]) parts[place] = part;
  } else if (isShown(part)) {
    const { type, id } = part;
    const text = isText(known) ? known : { type, id, text: '', hasEnded: false, isGapless: false };
    if (known === undefined) add(text);
    // A text that is not complete may have grown since the list was made.
    if (isListed && text.isGapless && part.time?.end === undefined) return true;
    if (!isListed) text.isGapless = part.text.length >= text.text.length;
    growText(text, part);
  } else if (known === undefined) add({ type: 'other', id: part.id });
  return true;
};

type Delta = Extract<AgentEventRecord, { readonly type: 'message.part.delta' }>['properties'];

const applyDelta = (answer: PromptSteps, { messageID, partID, field, delta }: Delta): boolean => {
  const text = stepOf(answer, messageID)?.parts.findLast(({ id }) => id === partID);
  if (field !== 'text' || !isText(text) || !text.isGapless || text.hasEnded) return false;
  text.text += delta;
  return true;
};

/** Applies an event of any session. Returns whether it may have changed the answer. */
export const applyEvent = (answer: PromptSteps, event: AgentEventRecord): boolean => {
  if (answer.held !== undefined) answer.held.push(event);
  else if (event.type === 'message.updated') return applyInfo(answer, event.properties.info);
  else if (event.type === 'message.part.updated') return applyPart(answer, event.properties.part, false);
  else if (event.type === 'message.part.delta') return applyDelta(answer, event.properties);
  return false;
};

/** Applies messages as the agent lists them: never older than the last gap, but maybe older than the last event. */
export const applyList = (answer: PromptSteps, records: readonly MessageRecord[]): void => {
  for (const { info, parts } of records) {
    applyInfo(answer, info);
    for (const part of parts) applyPart(answer, part, true);
  }
  const events = answer.held ?? [];
  answer.held = undefined;
  for (const event of events) applyEvent(answer, event);
};

/** Events were lost: later ones wait for a list. */
export const noteGap = (answer: PromptSteps): void => {
  for (const { parts } of answer.steps) for (const part of parts) if (isText(part)) part.isGapless = false;
  answer.held ??= [];
};
