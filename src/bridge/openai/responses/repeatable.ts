import type { AnswerFailure } from '../../errors.ts';
import { endOfPiece } from '../../stream/graphemes.ts';
import type { EncodedEvent } from '../endpoint.ts';
import { encodeChange, encodeEvents, errorEvent, type GivenEvent, type ResponseEvents } from './events.ts';
import type { ItemChange } from './items.ts';

// The events of a response in the background are the same for every reader, at every bridge and at any time: a
// client that has lost its stream reads another one from the number of its last event on. The agent gives its output in one order.

/** Numbers for a text, for the beginning of a call, and for its end. A longer text has several times as many. */
const RANGE = 65_536;
/** Of these the last ones are for the end of a text, so that they do not depend on its length. */
const END_NUMBERS = 3;
/** Numbers of a text besides those of its pieces. */
const OTHER_NUMBERS = 8;
/** The response itself has two events before those of items. */
const FIRST_RANGE = 2;
/** Of a stream's last event. Some clients read 32 bits. */
const LAST_NUMBER = 2_147_483_647;

/** In UTF-16 units. A short piece is soon there, and a long text is not too many of them. */
const leastPieceAt = (position: number): number => Math.max(16, Math.min(256, Math.floor(position / 1024)));

/** Events that a reader can ask for again. */
type RepeatableEvents = ResponseEvents & {
  /**
   * The end of a stream that cannot go on while its response may. It has the number of the event before it, after which its reader
   * asks for the rest.
   */
  readonly interrupted: (failure: AnswerFailure) => readonly EncodedEvent[];
};

const RESUMED = 'This stream has ended before its response: read the rest with stream=true and starting_after';

/** Encodes the events of a response with numbers that are the same for every reader, and leaves out those up to `after`. */
export const createRepeatableEncoder = (after = -1): RepeatableEvents => {
  let last = Math.max(0, after);
  let range = FIRST_RANGE;
  /** How much of the text in this range is passed on, and what is held until a piece is whole. */
  let sentUnits = 0;
  let held = '';

  const pass = (encoded: readonly EncodedEvent[], first: number): readonly EncodedEvent[] => {
    last = Math.max(last, first + encoded.length - 1);
    return encoded.filter((_, index) => first + index > after);
  };
  const passChange = (change: ItemChange, first: number) => pass(encodeChange(change, first), first);
  const passGiven = (given: readonly GivenEvent[], first: number) => pass(encodeEvents(given, first), first);
  const passPiece = (change: ItemChange, text: string): readonly EncodedEvent[] => {
    sentUnits += text.length;
    return passChange({ ...change, kind: 'delta', text }, range + 1 + sentUnits);
  };
  const passPieces = (change: ItemChange): readonly EncodedEvent[] => {
    const text = held + change.text;
    const encoded: EncodedEvent[] = [];
    let from = 0;
    for (;;) {
      const end = endOfPiece(text, from, leastPieceAt(sentUnits));
      if (end === undefined) break;
      encoded.push(...passPiece(change, text.slice(from, end)));
      from = end;
    }
    held = text.slice(from);
    return encoded;
  };
  const endRange = (): void => {
    range += Math.ceil((sentUnits + OTHER_NUMBERS) / RANGE) * RANGE;
    sentUnits = 0;
    held = '';
  };
  const passEnd = (change: ItemChange): readonly EncodedEvent[] => {
    const rest = held === '' ? [] : passPiece(change, held);
    endRange();
    return [...rest, ...passChange(change, range - END_NUMBERS)];
  };
  const eventsOf = (change: ItemChange): readonly EncodedEvent[] => {
    if (change.kind === 'delta') return passPieces(change);
    if (change.kind === 'done') return passEnd(change);
    const encoded = passChange(change, range);
    if (change.kind === 'whole' || change.form === 'call') endRange();
    return encoded;
  };
  return {
    begin: (...given) => passGiven(given, 0),
    eventsIn: (changes) => changes.flatMap(eventsOf),
    // The number of the last of so many events, or more where there are so many items.
    end: (...given) => passGiven(given, Math.max(LAST_NUMBER, range + OTHER_NUMBERS) - given.length + 1),
    interrupted: ({ code, message }) => encodeEvents([errorEvent({ code, message: `${message}. ${RESUMED}` })], last),
  };
};
