import type { Message, Part } from '../protocol/types.ts';
import type { MessageOutline, MessageWithParts, Store } from '../store/store.ts';

/** A message without what its parts hold. */
export type MessageShape = {
  readonly info: Message;
  readonly parts: readonly Pick<Part, 'id' | 'type' | 'messageID'>[];
};

/** How much of a session is read at a time. A larger message is read alone. */
const PAGE_BYTES = 4 * 1024 * 1024;

/** How many messages at the end fit on a page, at least one. */
const countLast = (outlines: readonly MessageOutline[]): number => {
  let bytes = 0;
  const first = outlines.findLastIndex((outline) => {
    bytes += outline.bytes;
    return bytes > PAGE_BYTES;
  });
  return Math.max(1, outlines.length - first - 1);
};
const toShape = ({ info, parts }: MessageWithParts): MessageShape => ({
  info,
  parts: parts.map(({ id, type, messageID }) => ({ id, type, messageID })),
});

/** All messages of a session page by page, the newest page first: a session holds up to 128 MiB, and no one must hold it all. */
export async function* readMessagePages(
  store: Pick<Store, 'messages' | 'messageOutlines'>,
  sessionID: string,
): AsyncGenerator<readonly MessageWithParts[]> {
  let older = await store.messageOutlines(sessionID);
  for (let beforeID: string | undefined; older.length > 0; ) {
    const limit = countLast(older);
    const page = await store.messages(sessionID, { limit, ...(beforeID === undefined ? {} : { beforeID }) });
    const [first] = page;
    if (first === undefined) return;
    yield page;
    const firstID = first.info.id;
    beforeID = firstID;
    older = older.filter(({ id }) => id < firstID);
  }
}

/** All messages of a session in their order, for what decides by ids and kinds. */
export const readMessageShapes = async (
  store: Pick<Store, 'messages' | 'messageOutlines'>,
  sessionID: string,
): Promise<readonly MessageShape[]> => {
  const pages: (readonly MessageShape[])[] = [];
  for await (const page of readMessagePages(store, sessionID)) pages.push(page.map(toShape));
  return pages.reverse().flat();
};
