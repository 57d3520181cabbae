// One character that opens or closes a control token in some tokenizer, looking only at what follows it:
// <|x|> <x> </x> <!x <<SYS>> <0x0A> <2x>, |>, [INST] [/INST] [gMASK] [@BOS@] [|user|], and ]~x] [x~[.
const TOKEN_EDGE = /<(?=[|/!<_｜\p{L}]|\d{1,3}[A-Za-z])|[|｜](?=>)|\[(?=\||\/?g?[A-Z@][\w@]*\])|\](?=~)|~(?=\[)/gu;

/**
 * Breaks what tokenizers read as control tokens by a space, so that user text stays text. Run it last: any later change
 * to the text could join a literal again.
 */
export const neutralise = (text: string): string => text.replace(TOKEN_EDGE, '$& ');
