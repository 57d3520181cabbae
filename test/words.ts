/** The words of a text, which hold no blanks. */
export const words = (text: string): readonly string[] => text.trim().split(/\s+/);
