import { badInput } from './bad-input.ts';
import { withTextsJoined } from './content-in.ts';
import { filesOf, type PromptPart, type Said, wordsOf } from './openai/request.ts';
import { itemsFrom, type ReadItem } from './openai/responses/input.ts';
import { isMessageID, responseIDIn } from './responses-ids.ts';

export type SaidInItems = {
  readonly system: string;
  /** What was said before the prompt, and after the answer that is known by its id if there is one. */
  readonly history: readonly Said[];
  readonly prompt: readonly PromptPart[];
  /** The response that what is said goes on from, where the client sent ids of items in place of the items. */
  readonly after: string | undefined;
  /** Where the client left out a message that cannot be found by its id. */
  readonly lostAt: string | undefined;
};

const saidFrom = (role: Said['role'], parts: readonly PromptPart[]): Said => {
  const files = filesOf(parts);
  return { role, text: wordsOf(parts), ...(files.length === 0 ? {} : { files }) };
};

/** What one side said without the other in between is one thing said. */
const takingTurns = (items: readonly ReadItem[]): readonly Said[] => {
  const turns: { readonly role: Said['role']; readonly parts: PromptPart[] }[] = [];
  for (const { voice, parts } of items) {
    const role = voice === 'user' ? 'user' : 'assistant';
    const last = turns.at(-1);
    const own = last?.role === role ? last.parts : [];
    if (last?.role !== role) turns.push({ role, parts: own });
    // One by one, because there may be more than a call can have arguments.
    for (const part of parts) own.push(part);
  }
  return turns.map(({ role, parts }) => saidFrom(role, parts));
};

const responseOf = ({ reference }: ReadItem): string | undefined =>
  reference === undefined ? undefined : responseIDIn(reference);
const isMessageReference = ({ reference }: ReadItem): boolean => reference !== undefined && isMessageID(reference);

/** The last item that stands for an answer of ours; none where the words of every answer came along. */
const knownUpTo = (said: readonly ReadItem[]): number => {
  const isNeeded = said.some((item) => isMessageReference(item) && responseOf(item) !== undefined);
  return isNeeded ? said.findLastIndex((item) => responseOf(item) !== undefined) : -1;
};

const promptIn = (said: readonly ReadItem[], start: number): readonly PromptPart[] => {
  const last = said.at(-1);
  if (last === undefined) throw badInput('invalid_value', 'input', "Expected a message of the user at 'input'");
  const at = `input[${last.index}]`;
  if (last.isToolOutput)
    throw badInput(
      'unsupported_value',
      at,
      `Unsupported value at '${at}': the agent runs tools of its own and waits for no output of a client's; expected the user's message`,
    );
  if (start === said.length)
    throw badInput('unsupported_value', at, `Expected the user's message to be the last item, at '${at}'`);
  const prompt = withTextsJoined(said.slice(start).flatMap(({ parts }) => parts));
  if (prompt.length === 0)
    throw badInput('invalid_value', 'input', "Expected something to answer at 'input': it is empty");
  return prompt;
};

/** Instructions, what was said before, and the user's words since the last answer; a fault where there are none. */
export const saidInItems = (input: unknown): SaidInItems => {
  const items = itemsFrom(input);
  const said = items.filter(({ voice }) => voice !== 'instructions');
  const start = said.findLastIndex(({ voice }) => voice !== 'user') + 1;
  const prompt = promptIn(said, start);
  const known = knownUpTo(said);
  const since = said.slice(known + 1, start);
  // The rest of the answer that is known, which some clients send in words.
  const firstSince = known === -1 ? 0 : since.findIndex(({ voice }) => voice === 'user');
  const lost = since.find((item) => isMessageReference(item) && responseOf(item) === undefined);
  const instructions = items.filter(({ voice }) => voice === 'instructions').map(({ parts }) => wordsOf(parts));
  const knownItem = said[known];
  return {
    system: instructions.filter((words) => words !== '').join('\n\n'),
    history: firstSince === -1 ? [] : takingTurns(since.slice(firstSince)),
    prompt,
    after: knownItem === undefined ? undefined : responseOf(knownItem),
    lostAt: lost === undefined ? undefined : `input[${lost.index}].id`,
  };
};
