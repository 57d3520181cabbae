import { createScanner, type Node, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser';

/** What was read, or the place of the first thing that no JSON is. Lines and columns count from 1. */
export type JsoncOutcome =
  | { readonly kind: 'read'; readonly value: unknown }
  | { readonly kind: 'unreadable'; readonly line: number; readonly column: number; readonly expected: string };

type Trouble = { readonly offset: number; readonly expected: string };

/** The parser calls itself for every level, and so do all who walk through what it gives. */
const DEEPEST = 64;
/** Names that objects of the language have by themselves: what stands under them would be lost, or worse. */
const UNUSABLE = new Set(['__proto__', 'constructor', 'prototype']);

// Numbers of the scanner's kinds of tokens, which are no values at run time.
const OPENING = new Set([1, 3]);
const CLOSING = new Set([2, 4]);
const END_OF_TEXT = 17;

const WORDS: Readonly<Record<string, string>> = {
  InvalidSymbol: 'expected a value, or a name or text in double quotes',
  PropertyNameExpected: 'expected a name in double quotes',
  ValueExpected: 'expected a value',
  ColonExpected: 'expected a colon',
  CommaExpected: 'expected a comma',
  CloseBraceExpected: 'expected a closing brace',
  CloseBracketExpected: 'expected a closing bracket',
  EndOfFileExpected: 'expected nothing more',
  UnexpectedEndOfComment: 'expected the end of a comment',
  UnexpectedEndOfString: 'expected the end of a text, on the line on which it began',
  UnexpectedEndOfNumber: 'expected the rest of a number',
  InvalidUnicode: 'expected four hexadecimal digits behind \\u',
  InvalidEscapeCharacter: 'expected one of " \\ / b f n r t u behind a backslash',
  InvalidCharacter: 'expected no control character',
};

const levelTrouble = (text: string): Trouble | undefined => {
  const scanner = createScanner(text, true);
  let level = 0;
  for (let token: number = scanner.scan(); token !== END_OF_TEXT; token = scanner.scan()) {
    if (OPENING.has(token)) level += 1;
    if (CLOSING.has(token)) level = Math.max(0, level - 1);
    if (level > DEEPEST) return { offset: scanner.getTokenOffset(), expected: `expected at most ${DEEPEST} levels` };
  }
  return undefined;
};

const syntaxTrouble = ({ error, offset }: ParseError): Trouble => ({
  offset,
  expected: WORDS[printParseErrorCode(error)] ?? 'expected JSON',
});

const nameTrouble = (branch: Node, seen: ReadonlySet<unknown>): Trouble | undefined => {
  if (UNUSABLE.has(String(branch.value))) return { offset: branch.offset, expected: 'expected another name' };
  if (seen.has(branch.value)) return { offset: branch.offset, expected: 'expected a name only once in an object' };
  return undefined;
};

/** The first name in the tree that cannot be kept. */
const namesTrouble = (branch: Node): Trouble | undefined => {
  const seen = new Set<unknown>();
  for (const child of branch.children ?? []) {
    const name = branch.type === 'object' ? child.children?.[0] : undefined;
    const trouble = (name === undefined ? undefined : nameTrouble(name, seen)) ?? namesTrouble(child);
    if (trouble !== undefined) return trouble;
    seen.add(name?.value);
  }
  return undefined;
};

const plainValue = (branch: Node | undefined): unknown => {
  if (branch?.type === 'array') return (branch.children ?? []).map(plainValue);
  if (branch?.type !== 'object') return branch?.value;
  return Object.fromEntries(
    (branch.children ?? []).map(({ children: [name, value] = [] }) => [name?.value, plainValue(value)]),
  );
};

const unreadable = (text: string, { offset, expected }: Trouble): JsoncOutcome => {
  const before = text.slice(0, offset).split('\n');
  return { kind: 'unreadable', line: before.length, column: (before.at(-1)?.length ?? 0) + 1, expected };
};

/** Reads JSON with comments and trailing commas. A name that stands twice in an object is refused, not forgotten. */
export const readJsonc = (whole: string): JsoncOutcome => {
  const text = whole.replace(/^\uFEFF/, '');
  const tooDeep = levelTrouble(text);
  if (tooDeep !== undefined) return unreadable(text, tooDeep);
  const errors: ParseError[] = [];
  const tree = parseTree(text, errors, { allowTrailingComma: true });
  const [first] = errors;
  const trouble = first === undefined ? tree && namesTrouble(tree) : syntaxTrouble(first);
  return trouble === undefined ? { kind: 'read', value: plainValue(tree) } : unreadable(text, trouble);
};
