import type { AnswerFailure } from '../../errors.ts';
import { endOfPiece } from '../../stream/graphemes.ts';
import type { EncodedEvent } from '../stream-encoder.ts';
import { createEventEncoder, errorEvent, type GivenEvent, type ResponseEvents } from './events.ts';
import type { ItemChange } from './items.ts';

// The events of a response in the background are the same for every reader, at every bridge and at any time: a
// client that has lost its stream reads another one from the number of its last event on.

/** Numbers of an item. One with a longer text has several times as many. */
const ITEM_NUMBERS = 65_536;
/** Of these the last ones are for its end, so that they do not depend on the length of its text. */
const END_NUMBERS = 3;
/** Numbers of an item besides those of its text. */
const OTHER_NUMBERS = 8;
/** Of the first item: the response itself has two events before that. */
const FIRST_ITEM_NUMBER = 2;
/** Of a stream's last event. Some clients read 32 bits. */
const LAST_NUMBER = 2_147_483_647;

/** In UTF-16 units. A short piece is soon there, and a long text is not too many of them. */
const leastPieceAt = (position: number): number => Math.max(16, Math.min(256, Math.floor(position / 1024)));

type NumberedChange = { readonly change: ItemChange; readonly number: number };

/** The item whose changes are passed on: its first number, and how much of its text is passed on or held. */
type CurrentItem = { index: number; number: number; sentUnits: number; held: string };

/**
 * Puts the changes of a response into an order, and its texts into pieces, that depend on the whole output alone: item after item,
 * each to its end, and each piece cut where the text says.
 */
const createRepeatableOrder = () => {
  const item: CurrentItem = { index: 0, number: FIRST_ITEM_NUMBER, sentUnits: 0, held: '' };
  /** Changes of later items, by their index. */
  const later = new Map<number, ItemChange[]>();

  const pieceOf = (text: string): NumberedChange => {
    item.sentUnits += text.length;
    return { change: { kind: 'delta', index: item.index, text }, number: item.number + 1 + item.sentUnits };
  };
  const takePieces = (more: string): readonly NumberedChange[] => {
    const text = item.held + more;
    const pieces: NumberedChange[] = [];
    let from = 0;
    for (;;) {
      const end = endOfPiece(text, from, leastPieceAt(item.sentUnits));
      if (end === undefined) break;
      pieces.push(pieceOf(text.slice(from, end)));
      from = end;
    }
    item.held = text.slice(from);
    return pieces;
  };
  const endItem = (): number => {
    const times = Math.ceil((item.sentUnits + OTHER_NUMBERS) / ITEM_NUMBERS);
    const next = item.number + times * ITEM_NUMBERS;
    Object.assign(item, { index: item.index + 1, number: next, sentUnits: 0, held: '' });
    return next - END_NUMBERS;
  };
  const numbered = (change: ItemChange): readonly NumberedChange[] => {
    switch (change.kind) {
      case 'added':
        return [{ change, number: item.number }];
      case 'delta':
        return takePieces(change.text);
      case 'done': {
        const rest = item.held === '' ? [] : [pieceOf(item.held)];
        return [...rest, { change, number: endItem() }];
      }
      case 'whole': {
        const { number } = item;
        endItem();
        return [{ change, number }];
      }
      default:
        return change satisfies never;
    }
  };
  return {
    /** Those that can be sent now. */
    add(changes: readonly ItemChange[]): readonly NumberedChange[] {
      for (const change of changes) {
        const held = later.get(change.index);
        if (held === undefined) later.set(change.index, [change]);
        else held.push(change);
      }
      const ready: NumberedChange[] = [];
      for (let next = later.get(item.index); next !== undefined; next = later.get(item.index)) {
        later.delete(item.index);
        for (const change of next) ready.push(...numbered(change));
      }
      return ready;
    },
    /** The number of the last of so many events, or more where there are so many items. */
    last: (): number => Math.max(LAST_NUMBER, item.number + OTHER_NUMBERS),
  };
};

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
  const { setNext, eventOf, eventsOf } = createEventEncoder();
  const order = createRepeatableOrder();
  let last = Math.max(0, after);
  const numberedFrom = (first: number, encode: () => readonly EncodedEvent[]): readonly EncodedEvent[] => {
    setNext(first);
    const encoded = encode();
    last = Math.max(last, first + encoded.length - 1);
    return encoded.filter((_, index) => first + index > after);
  };
  const encodeGiven = (given: readonly GivenEvent[], first: number) =>
    numberedFrom(first, () => given.map(([type, members]) => eventOf(type, members)));
  return {
    begin: (...given) => encodeGiven(given, 0),
    eventsIn: (changes) =>
      order.add(changes).flatMap(({ change, number }) => numberedFrom(number, () => eventsOf(change))),
    end: (...given) => encodeGiven(given, order.last() - given.length + 1),
    interrupted({ code, message }) {
      setNext(last);
      return [eventOf(...errorEvent({ code, message: `${message}. ${RESUMED}` }))];
    },
  };
};
