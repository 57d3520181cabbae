import { Fault } from '../../core/fault.ts';
import type { Steps } from '../../core/time-slices.ts';
import type { GivenMessage } from '../protocol/given-messages.ts';
import type { TurnBody } from './body.ts';
import { type Chain, chainsOf, extendChain } from './history/digests.ts';

type Result = Extract<GivenMessage, { readonly role: 'tool' }>;
type Question = Extract<GivenMessage, { readonly role: 'user' }>;

/** A request for a turn, with its messages by what they are for. */
export type AskedTurn = {
  readonly owner: string;
  readonly body: TurnBody;
  /** To compare, or to store. Results at the end are part of the input where that holds no message. */
  readonly history: readonly GivenMessage[];
  readonly results: readonly Result[];
  readonly questions: readonly Question[];
  /** The digests of the beginnings of the history. */
  readonly chains: readonly Chain[];
};

const wrongInput = (expected: string) =>
  new Fault({ kind: 'bad-input', code: 'invalid_body', param: 'input', message: `input: expected ${expected}` });

/** Where the results at the end of a history begin. */
const resultsAt = (history: readonly GivenMessage[]): number =>
  history.findLastIndex(({ role }) => role !== 'tool') + 1;

/** Sorts the messages of a request, and computes the digests of its history. */
export function* readAskedTurn(owner: string, body: TurnBody, digest: (text: string) => string): Steps<AskedTurn> {
  const isEmpty = body.input.length === 0 && body.decisions.length === 0;
  const end = isEmpty ? resultsAt(body.history) : body.history.length;
  const history = body.history.slice(0, end);
  const input: readonly GivenMessage[] = [...body.history.slice(end), ...body.input];
  const results = input.filter((message): message is Result => message.role === 'tool');
  const questions = input.filter((message): message is Question => message.role === 'user');
  if (input.length === 0 && body.decisions.length === 0) throw wrongInput('a message, or decisions without one');
  if (input.slice(0, results.length).some(({ role }) => role !== 'tool'))
    throw wrongInput('the results of calls before the messages of the user');
  // A fork cannot end between calls and their results.
  const chains = (yield* chainsOf(history, digest)).filter(({ count }) => history[count]?.role !== 'tool');
  return { owner, body, history, results, questions, chains };
}

/**
 * The digest of the conversation with the messages of a request. `before`: that of the conversation so far, where the history of the
 * request is not all of it; without both it is not known.
 */
export function* chainWith(
  { body, history, results, questions }: AskedTurn,
  before: string | undefined,
  digest: (text: string) => string,
): Steps<string | undefined> {
  const input = [...results, ...questions];
  if (history.length > 0 && !body.isAppended) return yield* extendChain('', [...history, ...input], digest);
  return before === undefined ? undefined : yield* extendChain(before, [...history, ...input], digest);
}
