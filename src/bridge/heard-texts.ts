import type { AgentEvent, PartRecord } from './agent-record.ts';
import type { TextState } from './log-texts.ts';
import type { TurnLogWriter } from './turn-log.ts';

export type TextPart = Extract<PartRecord, { readonly type: 'text' | 'reasoning' }>;
type Delta = Extract<AgentEvent, { readonly type: 'message.part.delta' }>['properties'];

/** Texts as events tell them, in order, and as lists do, which are older than some events and newer than others. */
export type HeardTexts = {
  /** A text as an event tells it. */
  readonly hear: (part: TextPart) => void;
  readonly hearMore: (delta: Pick<Delta, 'partID' | 'delta'>) => void;
  /** A text as a list has it. */
  readonly see: (part: TextPart) => void;
  /** Events were lost, so what is added to a text cannot be placed before the whole of it was told again. */
  readonly doubt: () => void;
};

const isOver = ({ time }: TextPart): boolean => time?.end !== undefined;
/** What was said counts for nothing. That is the last that is told of a text, so it is never old news. */
const isEmptied = (part: TextPart): boolean => isOver(part) && part.text === '';

/**
 * Writes down what goes beyond what is known. What comes late may say again what was said already, which nobody is told twice.
 */
export const createHeardTexts = (writer: TurnLogWriter): HeardTexts => {
  /** How far the events have come with each text. A list may have been further. */
  const heard = new Map<string, TextState>();

  const write = (part: TextPart): void => {
    const { id, messageID, type: kind, text } = part;
    writer.setText({ id, messageID, kind, text, isOver: isOver(part) });
  };
  return {
    hear(part) {
      const known = writer.textState(part.id);
      const before = heard.get(part.id);
      heard.set(part.id, { chars: part.text.length, isOver: isOver(part) });
      const isOld =
        known?.isOver === true
          ? before?.isOver !== true
          : before === undefined && !isOver(part) && part.text.length <= (known?.chars ?? -1);
      if (isEmptied(part) || !isOld) write(part);
    },
    hearMore({ partID, delta }) {
      const before = heard.get(partID);
      const known = writer.textState(partID);
      if (before === undefined || known === undefined) return;
      heard.set(partID, { ...before, chars: before.chars + delta.length });
      if (!known.isOver) writer.addText(partID, delta.slice(known.chars - before.chars));
    },
    see(part) {
      const known = writer.textState(part.id);
      const isOld = known?.isOver === true || (!isOver(part) && heard.has(part.id));
      if (isEmptied(part) || !isOld) write(part);
    },
    doubt: () => heard.clear(),
  };
};
