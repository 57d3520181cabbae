import * as v from 'valibot';
import { Fault } from '../../core/fault.ts';
import { issueOf } from '../../core/http/body.ts';
import { isRecord } from '../../core/json.ts';

/** A file of a prompt. Its `url` is a `data:` URL. */
export type FilePart = {
  readonly type: 'file';
  readonly mime: string;
  readonly filename?: string;
  readonly url: string;
};

/** A piece of a prompt in the agent's words. */
export type PromptPart = { readonly type: 'text'; readonly text: string } | FilePart;

/** Something said earlier in a conversation, as the client tells it. `files`: those that came with it, if any did. */
export type Said = {
  readonly role: 'user' | 'assistant';
  readonly text: string;
  readonly files?: readonly FilePart[];
};

/**
 * What a client says of the conversation that a request belongs to. `remembers`: the client sends only what is new and relies
 * on us for the rest; otherwise it sends everything each time, and what it sends is what was said.
 */
export type Place =
  | { readonly kind: 'unnamed' }
  | { readonly kind: 'named'; readonly id: string; readonly remembers: boolean }
  | { readonly kind: 'after'; readonly responseID: string };

/** An answer to a question of the agent, given beside the words: the header `x-approval`. */
export type Verdict = {
  readonly isApproved: boolean;
  /** Ids of questions, whole or their last characters. */
  readonly ids: readonly string[];
  /** What the agent is told of a rejection. */
  readonly message?: string;
};

/** What is asked of the agent, whichever endpoint it came by. */
export type Asked = {
  /** As the client wrote it; nothing stands for the default. */
  readonly model: string | undefined;
  /** Instructions of the client, empty if there are none. */
  readonly system: string;
  /** What was said before the prompt, in order. */
  readonly history: readonly Said[];
  /** Everything that the user has said since the last answer; at least one part. */
  readonly prompt: readonly PromptPart[];
  readonly isStreamed: boolean;
  /** The reasoning effort that was wished for, a variant's name at the agent. */
  readonly effort: string | undefined;
  /** Whether the conversation is to be kept; `false` only when the client said so. */
  readonly isKept: boolean;
  readonly place: Place;
  /** A title, tags or the like for a chat front end: it belongs to no conversation. */
  readonly isTask: boolean;
  readonly verdict: Verdict | undefined;
  /** Members of the body that were given and have no effect here, for a header that says so. */
  readonly ignored: readonly string[];
};

/** The files of a prompt, in order. */
export const filesOf = (prompt: readonly PromptPart[]): readonly FilePart[] =>
  prompt.filter((part): part is FilePart => part.type === 'file');

/** The words of a prompt, without its files. */
export const wordsOf = (prompt: readonly PromptPart[]): string =>
  prompt.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n\n');

/** A refusal of what a client sent, with OpenAI's codes. The message must never quote what came. */
export const badInput = (code: string, param: string | null, message: string): Fault =>
  new Fault({ kind: 'bad-input', code, param, message });

/** A place within a place: `messages` and `[2].role` make `messages[2].role`. */
const within = (at: string, path: string): string =>
  at === '' || path === '' || path.startsWith('[') ? `${at}${path}` : `${at}.${path}`;

const refusalOf = (issue: v.BaseIssue<unknown>, at: string): Fault => {
  const { path, expected } = issueOf(issue);
  const place = within(at, path);
  const param = place === '' ? null : place;
  // An object complains of a member that is missing by the member's name in quotes.
  if (issue.type === 'object' && expected.startsWith('"'))
    return badInput('missing_required_parameter', param, `Missing required parameter: '${place}'`);
  // A choice among objects complains of what is no object at all like this.
  const isChoice = expected !== 'Object' && ['literal', 'picklist', 'variant'].includes(issue.type);
  return isChoice
    ? badInput('invalid_value', param, `Invalid value at '${place}': expected ${expected}`)
    : badInput('invalid_type', param, `Invalid type at '${place}': expected ${expected}`);
};

/** A schema's value, or a `bad-input` fault that names the place: `at` is where in the body the value was. */
export const readAs = <Schema extends v.GenericSchema>(
  schema: Schema,
  value: unknown,
  at = '',
): v.InferOutput<Schema> => {
  const result = v.safeParse(schema, value, { abortEarly: true });
  if (result.success) return result.output;
  throw refusalOf(result.issues[0], at);
};

const ITEMS_LIMIT = 2000;
const PARTS_LIMIT = 1000;
/** Members of messages and items that hold lists which are gone through one by one. */
const LISTS = ['content', 'output', 'tool_calls'];

const tooMany = (at: string, limit: number, what: string) =>
  badInput('invalid_value', at, `Invalid value at '${at}': there are more than ${limit} ${what}`);

/**
 * Refuses messages, or items, of which there are so many that reading them would keep everybody else waiting. One part in a
 * message is as good as a text, so only further ones are counted. `at` is the list's place in the body.
 */
export const refuseTooMany = (list: unknown, at: string): void => {
  if (!Array.isArray(list)) return;
  if (list.length > ITEMS_LIMIT) throw tooMany(at, ITEMS_LIMIT, 'of them');
  let parts = 0;
  for (const [index, item] of list.entries()) {
    for (const name of LISTS) {
      const held: unknown = isRecord(item) ? item[name] : undefined;
      parts += Array.isArray(held) ? Math.max(0, held.length - 1) : 0;
      if (parts > PARTS_LIMIT) throw tooMany(`${at}[${index}].${name}`, PARTS_LIMIT, 'parts in this request');
    }
  }
};

/** Whether a value asks for nothing, so that it need not be told that it has no effect. */
export type IsNeutral = (value: unknown) => boolean;

export const is =
  (...neutral: readonly unknown[]): IsNeutral =>
  (value) =>
    neutral.includes(value);
export const never: IsNeutral = () => false;
export const isEmpty: IsNeutral = (value) =>
  value === '' || (Array.isArray(value) && value.length === 0) || (isRecord(value) && Object.keys(value).length === 0);
