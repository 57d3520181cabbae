/** The most pieces a second that all streams send together. Each is a write of its own to a connection. */
const PIECES_PER_SECOND = 10_000;

/** What the streams that send at the same time share: so many pieces a second, however many streams there are. */
export type PieceShare = {
  /** A stream has text to send. */
  readonly begin: () => void;
  /** A stream that has begun has none. */
  readonly end: () => void;
  /** The shortest time from one piece of a stream to its next one, in milliseconds. */
  readonly intervalMs: () => number;
};

/** Creates what all streams of a bridge share. */
export const createPieceShare = (piecesPerSecond = PIECES_PER_SECOND): PieceShare => {
  let streams = 0;
  return {
    begin() {
      streams += 1;
    },
    end() {
      streams -= 1;
    },
    intervalMs: () => (streams * 1000) / piecesPerSecond,
  };
};
