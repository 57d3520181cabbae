/**
 * The characters that a model reads and a person does not see: control, format (zero-width, direction, tag), private and
 * unassigned ones, unpaired halves, fillers, line separators, and the selectors that can carry hidden bytes. For `replace`;
 * as it is global, `test` would remember where it was.
 */
export const UNSEEN_CHARACTERS =
  /[\u034f\u180b-\u180f\ufe00-\ufe0f\u{e0100}-\u{e01ef}\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Cn}\u115f\u1160\u17b4\u17b5\u2028\u2029\u2800\u3164\uffa0]/gu;
