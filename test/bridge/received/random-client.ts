import { createRandom } from '../../agent/turns/plays.ts';
import { TOOLS } from '../harness/tools-world.ts';
import { assistant, KEY, OTHER_KEY, user } from '../harness/world.ts';
import type { Asked, Said } from './play.ts';
import { agentKilled, killed, restarted } from './sent.ts';
import { type Item, toldOf } from './told.ts';

const WORDS = ['a', 'b', 'c', 'a', 'b', 'roll', 'fail', 'call weather', 'call weather, clock', 'say and call clock'];

/** The calls of a history that have no result yet. */
const openCalls = (history: readonly Item[]): readonly string[] => {
  const told = toldOf(history).at(-1);
  return told?.role === 'assistant' ? told.calls.map(({ id }) => id) : [];
};
const isAnswerWithCalls = ({ type, tool_calls }: Item): boolean => type === 'function_call' || tool_calls !== undefined;

/**
 * A client that does anything with what it has sent and got: it goes on, goes back, edits, gives results, names chats, and uses two keys.
 * Chats with a name have a text of their own, as a history without a name is found in them, too.
 */
export const createRandomClient = (seed: number) => {
  const random = createRandom(seed);
  const isSo = (chance: number): boolean => random() < chance;
  const pick = <One>(list: readonly One[]): One => list[Math.floor(random() * list.length)] as One;
  /** What a name stands for, and which requests were chats, by their index. */
  const names = new Map<string, number>();
  const kinds: { readonly isChat: boolean; readonly key: string; readonly name: string | undefined }[] = [];
  const answered = new Set<string>();
  const isMostlyChat = isSo(0.5);
  let count = 0;

  const newWords = (): Item => {
    const words = pick(WORDS);
    count += 1;
    return user(words === 'fail' ? `fail ${count}` : words);
  };
  const edited = (item: Item): Item => {
    if (isAnswerWithCalls(item)) return item;
    count += 1;
    if (item.output !== undefined) return { ...item, output: `${count}` };
    if (item.role === 'assistant') return assistant(`${count}`);
    return { ...item, content: `${count}` };
  };
  /** A beginning of a history, which may be changed somewhere. */
  const changed = (whole: readonly Item[], isCut: boolean): readonly Item[] => {
    const questions = whole.flatMap(({ role }, index) => (role === 'user' ? [index] : []));
    const end = isSo(0.5) ? whole.length : pick([...questions, whole.length]);
    const start = isCut && isSo(0.1) ? (pick(questions) ?? 0) : 0;
    const history = whole.slice(Math.min(start, end), end);
    if (history.length === 0 || isSo(0.6)) return history;
    const at = Math.floor(random() * history.length);
    return history.map((item, index) => (index === at ? edited(item) : item));
  };
  /** What follows a history: results where it ends in calls, and words. */
  const following = (history: readonly Item[], isChat: boolean): readonly Item[] => {
    const ids = openCalls(history);
    const results = ids.map((id): Item => {
      const output = pick(['fine', 'bad']);
      return isChat
        ? { role: 'tool', tool_call_id: id, content: output }
        : { type: 'function_call_output', call_id: id, output };
    });
    const isOver = ids.some((id) => answered.has(id));
    for (const id of ids) answered.add(id);
    if (ids.length > 0 && !isOver && isSo(0.7)) return results;
    return [...results, newWords(), ...(isSo(0.2) ? [newWords()] : [])];
  };
  const asked = (said: readonly Said[]): Asked => {
    const key = isSo(0.92) ? KEY : OTHER_KEY;
    const isChat = isSo(0.85) === isMostlyChat;
    const name = isSo(0.75) ? undefined : `desk-${isChat}`;
    const place = `${key} ${name}`;
    const known = name === undefined ? undefined : names.get(place);
    const sources = kinds.flatMap((kind, index) =>
      kind.isChat === isChat && kind.name === name && (!name || kind.key === key) ? [index] : [],
    );
    const source = [pick(sources), pick(sources)].toSorted((one = 0, other = 0) => one - other).at(-1);
    const whole = source === undefined || isSo(0.07) ? [] : (said[source]?.whole ?? []);
    const first = isSo(0.8) ? undefined : pick([restarted, agentKilled, killed]);
    const send = (items: readonly Item[], rest: Asked = {}): Asked => ({
      ...(isChat ? { messages: items } : { input: items }),
      ...(first === undefined ? {} : { first }),
      ...rest,
      key,
      more: { tools: TOOLS, ...rest.more },
    });
    if (name !== undefined) names.set(place, kinds.length);
    const isAfter =
      !isChat && name === undefined && source !== undefined && said[source]?.id !== '' && kinds[source]?.key === key;
    kinds.push({ isChat, key, name });
    if (isAfter && isSo(0.5))
      return send(following(whole, isChat), {
        ...(whole.length > 0 ? { after: source, more: { previous_response_id: said[source]?.id } } : {}),
      });
    const headers = name === undefined ? {} : { 'x-session-id': name };
    const sent = isSo(0.5) && known !== undefined ? [] : changed(whole, name === undefined);
    // In a conversation with a name, words without an answer before them are new.
    const history = name === undefined || sent.some(({ role }) => role === 'assistant') ? sent : [];
    if (history.length === 0 && known !== undefined)
      return send(following(said[known]?.whole ?? [], isChat), { headers, after: known });
    const opening = name !== undefined && history.length === 0 ? [user(place)] : [];
    return send([...opening, ...history, ...following(history, isChat)], { headers });
  };
  return (said: readonly Said[]): Asked => {
    const given = asked(said);
    const items = given.messages ?? given.input ?? [];
    const last = items.at(-1) as Item;
    return typeof last.content === 'string' && last.content.startsWith('fail') ? { ...given, status: 502 } : given;
  };
};
