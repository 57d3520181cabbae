/** The longest title that a client may give, and the longest file name, in characters. */
export const TITLE_CHARS = 500;

/** Whether a text holds no NUL: databases, terminals and programs in C cut a text there. */
export const hasNoNul = (text: string): boolean => !text.includes('\0');
