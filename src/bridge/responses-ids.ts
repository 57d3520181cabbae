const PREFIXES = { message: 'msg', reasoning: 'rs', call: 'mcp' } as const;

export type ItemKind = keyof typeof PREFIXES;

/**
 * The id of a response's item. It holds the response's id, because some clients send nothing of an earlier answer but the ids of
 * its items.
 */
export const itemIDOf = (kind: ItemKind, index: number, responseID: string): string =>
  `${PREFIXES[kind]}_${index}_${responseID}`;

const OURS = /^(msg|rs|mcp)_\d{1,6}_(resp_.+)$/s;

/** The response that an item of ours belongs to; nothing for items of others. */
export const responseIDIn = (itemID: string): string | undefined => OURS.exec(itemID)?.[2];

/** Whether an id, ours or not, is that of a message. */
export const isMessageID = (itemID: string): boolean => itemID.startsWith(`${PREFIXES.message}_`);
