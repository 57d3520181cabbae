import { nearestName } from '../core/config.ts';
import { LABEL_NAMES, type Label, labelFor } from './category.ts';
import { EvaluationError } from './errors.ts';

/** Fields that hold several labels at once, in the order in which they are looked for. */
export const CONTAINERS = ['labels', 'categories'] as const;
type Container = (typeof CONTAINERS)[number];

/** Which labels to read: some of those a row has, all in one of its fields, or one in a field of another name. */
export type LabelChoice =
  | { readonly kind: 'label'; readonly label: Label }
  | { readonly kind: 'container'; readonly field: Container }
  | { readonly kind: 'field'; readonly field: string; readonly label: Label };

/** Says that a label name is unknown and which one was most likely meant. */
export const unknownLabel = (where: string, name: string): EvaluationError =>
  new EvaluationError(
    `${where}: unknown label "${name.slice(0, 60)}", the nearest known is "${nearestName(name.toLowerCase(), LABEL_NAMES)}"`,
  );

const labelOrThrow = (name: string): Label => {
  const label = labelFor(name);
  if (label === undefined) throw unknownLabel('--labels', name);
  return label;
};

const choiceFrom = (word: string): LabelChoice => {
  const equals = word.lastIndexOf('=');
  if (equals !== -1) {
    return { kind: 'field', field: word.slice(0, equals).trim(), label: labelOrThrow(word.slice(equals + 1)) };
  }
  const container = CONTAINERS.find((name) => name === word);
  return container === undefined
    ? { kind: 'label', label: labelOrThrow(word) }
    : { kind: 'container', field: container };
};

/** Reads the words of `--labels`: names of labels, `labels` or `categories`, and `field=label`. */
export const parseLabelChoices = (words: readonly string[]): readonly LabelChoice[] => words.map(choiceFrom);
