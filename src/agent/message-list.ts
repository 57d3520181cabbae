import type { MessagesAsked, Store } from './store/store.ts';

/** Large enough that few are needed, and small enough that nothing waits for one. */
const PIECE_CHARS = 256 * 1024;

/**
 * The JSON text of a session's messages, in pieces that are made as they are asked for: a whole session need not fit into
 * memory at once. Each message is as it was when its piece was made; one that is gone by then is left out.
 */
export async function* messageList(
  store: Pick<Store, 'outline' | 'message'>,
  sessionID: string,
  asked: MessagesAsked,
): AsyncGenerator<string> {
  let piece = '[';
  let between = '';
  for (const { id } of await store.outline(sessionID, asked)) {
    const told = await store.message(sessionID, id);
    if (told === undefined) continue;
    piece += between + JSON.stringify(told);
    between = ',';
    if (piece.length < PIECE_CHARS) continue;
    yield piece;
    piece = '';
  }
  yield `${piece}]`;
}
