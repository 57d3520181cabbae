import type { AgentEvent, PartRecord } from './agent/schema.ts';
import type { TurnLogWriter } from './turn/log.ts';

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

/** Writes down what goes beyond what is known. Old news say again what was said already, which nobody is told twice. */
export const createHeardTexts = (writer: TurnLogWriter): HeardTexts => {
  /** Texts of which everything so far was heard, so that what is added to them can be believed. */
  const sure = new Set<string>();

  const write = (part: TextPart): void => {
    const { id, messageID, type: kind, text } = part;
    writer.setText({ id, messageID, kind, text, isOver: isOver(part) });
  };
  return {
    hear(part) {
      if (writer.isTextOver(part.id) && !isEmptied(part)) return;
      sure.add(part.id);
      write(part);
    },
    hearMore({ partID, delta }) {
      if (sure.has(partID) && !writer.isTextOver(partID)) writer.addText(partID, delta);
    },
    see(part) {
      // What is still being said may have got further, or begun anew, since the list was made.
      const isOld = writer.isTextOver(part.id) || (sure.has(part.id) && !isOver(part));
      if (isEmptied(part) || !isOld) write(part);
    },
    doubt: () => sure.clear(),
  };
};
