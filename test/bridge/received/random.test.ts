import { createRandom } from '../../agent/turns/plays.ts';
import { describe, thorough } from '../../check.ts';
import { TOOLS } from '../harness/tools-world.ts';
import { assistant, KEY, OTHER_KEY, user } from '../harness/world.ts';
import { type Asked, play, type Said } from './play.ts';
import { agentKilled, killed, restarted } from './sent.ts';
import { type Item, toldOf } from './told.ts';

const PLAYS = Number(process.env.PLAYS ?? thorough(20, 1000));
const REQUESTS = 10;
const FIRST = Number(process.env.FIRST_PLAY ?? 1);
const WORDS = ['a', 'b', 'c', 'a', 'b', 'roll', 'fail', 'call weather', 'call weather, clock', 'say and call clock'];

/** The calls of a history that have no result yet. */
const openCalls = (history: readonly Item[]): readonly string[] => {
  const told = toldOf(history).at(-1);
  return told?.role === 'assistant' ? told.calls.map(({ id }) => id) : [];
};
const isAnswerWithCalls = ({ type, tool_calls }: Item): boolean => type === 'function_call' || tool_calls !== undefined;

/** A client that does whatever comes to its mind with what it has sent and got. */
const createClient = (seed: number) => {
  const random = createRandom(seed);
  const isSo = (chance: number): boolean => random() < chance;
  const pick = <One>(list: readonly One[]): One => list[Math.floor(random() * list.length)] as One;
  /** What a name stands for, and which requests were chats, by their index. */
  const names = new Map<string, number>();
  const kinds: { readonly isChat: boolean; readonly key: string; readonly name: string | undefined }[] = [];
  const answered = new Set<string>();
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
    if (history.length === 0 || isSo(0.7)) return history;
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
    const key = isSo(0.85) ? KEY : OTHER_KEY;
    const isChat = isSo(0.6);
    const name = isSo(0.6) ? undefined : `${pick(['one', 'two'])}-${isChat}`;
    const place = `${key} ${name}`;
    const known = name === undefined ? undefined : names.get(place);
    const sources = kinds.flatMap((kind, index) =>
      kind.isChat === isChat && kind.name === name && (!name || kind.key === key) ? [index] : [],
    );
    const source = pick(sources);
    const whole = source === undefined || isSo(0.15) ? [] : (said[source]?.whole ?? []);
    const first = pick([undefined, undefined, undefined, undefined, restarted, agentKilled, killed]);
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

describe('what a model receives of a client that changes its mind', (check) =>
  check('is what that client sent, in random plays', async () => {
    for (let seed = FIRST; seed < FIRST + PLAYS; seed++) {
      const client = createClient(seed);
      const log: unknown[] = [];
      const requests = Array.from({ length: REQUESTS }, () => (said: readonly Said[]) => {
        const given = client(said);
        const line = (i: Item) =>
          [i.role ?? i.type, typeof i.content === 'string' ? i.content : (i.output ?? ''), ...openCalls([i])].join(' ');
        log.push(
          [
            given.first?.name,
            given.headers,
            given.key === KEY ? 1 : 2,
            given.after,
            given.more?.previous_response_id,
            ...((given.messages ?? given.input ?? []) as Item[]).map(line),
          ].join(' | '),
        );
        return given;
      });
      await play({ name: `${seed}`, requests }).catch((error: Error) => {
        throw new Error(
          `play ${seed}: ${JSON.stringify(log.slice(-10), null, 1)}\n${error.message}\n${(error as { details?: string }).details ?? ''}`,
        );
      });
    }
  }));
