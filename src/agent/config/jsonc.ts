import { createScanner, type Node, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser';

/** The parsed value, or the position of the first syntax error. Lines and columns count from 1. */
type JsoncOutcome =
  | { readonly kind: 'read'; readonly value: unknown }
  | { readonly kind: 'unreadable'; readonly line: number; readonly column: number; readonly expected: string };

type SyntaxProblem = { readonly offset: number; readonly expected: string };

/** The parser is recursive, and so is all code that walks through its result. */
const DEPTH_LIMIT = 64;
/** Names that JavaScript objects have by themselves: their values would be lost, or change the prototype. */
const UNSAFE_NAMES = new Set(['__proto__', 'constructor', 'prototype']);

// The scanner's token kinds: its enum does not exist at run time.
const OPENING = new Set([1, 3]);
const CLOSING = new Set([2, 4]);
const END_OF_TEXT = 17;

const ERROR_TEXTS: Readonly<Record<string, string>> = {
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

const findDepthError = (text: string): SyntaxProblem | undefined => {
  const scanner = createScanner(text, true);
  let level = 0;
  for (let token: number = scanner.scan(); token !== END_OF_TEXT; token = scanner.scan()) {
    if (OPENING.has(token)) level += 1;
    if (CLOSING.has(token)) level = Math.max(0, level - 1);
    if (level > DEPTH_LIMIT)
      return { offset: scanner.getTokenOffset(), expected: `expected at most ${DEPTH_LIMIT} levels` };
  }
  return undefined;
};

const toSyntaxError = ({ error, offset }: ParseError): SyntaxProblem => ({
  offset,
  expected: ERROR_TEXTS[printParseErrorCode(error)] ?? 'expected JSON',
});

const checkName = (branch: Node, seen: ReadonlySet<unknown>): SyntaxProblem | undefined => {
  if (UNSAFE_NAMES.has(String(branch.value))) return { offset: branch.offset, expected: 'expected another name' };
  if (seen.has(branch.value)) return { offset: branch.offset, expected: 'expected a name only once in an object' };
  return undefined;
};

/** The first name in the tree that is duplicate or unsafe. */
const findNameError = (branch: Node): SyntaxProblem | undefined => {
  const seen = new Set<unknown>();
  for (const child of branch.children ?? []) {
    const name = branch.type === 'object' ? child.children?.[0] : undefined;
    const failure = (name === undefined ? undefined : checkName(name, seen)) ?? findNameError(child);
    if (failure !== undefined) return failure;
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

const toUnreadable = (text: string, { offset, expected }: SyntaxProblem): JsoncOutcome => {
  const before = text.slice(0, offset).split('\n');
  return { kind: 'unreadable', line: before.length, column: (before.at(-1)?.length ?? 0) + 1, expected };
};

/** Parses JSON with comments and trailing commas. A duplicate name in an object is an error. */
export const parseJsonc = (whole: string): JsoncOutcome => {
  const text = whole.replace(/^\uFEFF/, '');
  const tooDeep = findDepthError(text);
  if (tooDeep !== undefined) return toUnreadable(text, tooDeep);
  const errors: ParseError[] = [];
  const tree = parseTree(text, errors, { allowTrailingComma: true });
  const [first] = errors;
  const failure = first === undefined ? tree && findNameError(tree) : toSyntaxError(first);
  return failure === undefined ? { kind: 'read', value: plainValue(tree) } : toUnreadable(text, failure);
};
