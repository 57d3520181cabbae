import * as assert from 'uvu/assert';
import { idIn } from '../../harness/recharge-world.ts';
import { type Reply, resultsOf } from '../../harness/tools-world.ts';
import { KEY, OTHER_KEY, user } from '../../harness/world.ts';
import { createRandom, type OpenArena } from './arena.ts';
import { createClient, type Message } from './client.ts';
import { createPlayModel } from './model.ts';
import { startServers } from './servers.ts';

const CLIENTS = 2;

type Chat = {
  readonly owner: string;
  readonly name: string | undefined;
  history: readonly Message[];
  /** What a model has to receive of it: texts by their roles. */
  lines: readonly string[];
  /** An approval was asked for in it: texts of the bridge are in its history. */
  isApproved: boolean;
};

const openPlay = async (seed: number, openArena: OpenArena) => {
  const random = createRandom(seed);
  const arena = await openArena(random);
  const beganMs = arena.clock.now();
  const model = createPlayModel(arena);
  const servers = await startServers(arena, model.given, (killed, { agent }) => model.noteKilled(killed, agent.store));
  const story: string[] = [];
  const tell = (line: string): void => void story.push(`${arena.clock.now() - beganMs} ms: ${line}`);
  const { ask, pick, isSo } = createClient({ arena, random, servers, tell });
  const seen = new Map<string, string>();
  let count = 0;

  const askIn = ({ owner, name }: Chat, words: string, messages: readonly Message[]) =>
    ask({ owner, name, messages, mayBeAborted: () => model.isCutOff(words) });
  /** Gives the results of its calls, or the approval that it asks for. */
  const goOn = async (chat: Chat, words: string, asked: readonly Message[], reply: Reply) => {
    if (words.includes('call')) {
      assert.is(reply.calls.length, 1, `the call of ${words}`);
      return [...asked, reply.message, ...resultsOf(reply.calls)];
    }
    if (!words.includes('pay')) return undefined;
    assert.not.ok(model.paid.includes(words), `${words}: paid without approval`);
    chat.isApproved = true;
    return [...asked, reply.message, user(`approve ${idIn(String(reply.message.content))}`)];
  };
  /** One question with all that belongs to it. False where its turn was cut off, and the client has to do something else. */
  const question = async (chat: Chat, tail: string, isContested = false): Promise<boolean> => {
    count += 1;
    const words = `${chat.owner === KEY ? 'one' : 'other'} ${count}${tail}`;
    const lines = [...chat.lines, `user: ${words}`];
    if (!chat.isApproved) model.expect(words, lines);
    if (isContested) model.contest(words);
    const asked = [...chat.history, user(words)];
    const first = await askIn(chat, words, asked);
    const messages = first && (await goOn(chat, words, asked, first));
    const reply = messages === undefined ? first : await askIn(chat, words, messages);
    if (reply === undefined) return false;
    const text = String(reply.message.content);
    if (words.includes('pay') && !model.paid.includes(words)) {
      assert.ok(model.isCutOff(words), `${words}: not paid: ${text}`);
      return false;
    }
    assert.match(text, `re ${words}`);
    model.settle(words);
    const conversation = reply.headers.get('x-session-id') ?? '';
    if (conversation.startsWith('conv_')) seen.set(conversation, chat.owner);
    chat.history = [...(messages ?? asked), reply.message];
    chat.lines = [...lines, `assistant: re ${words}`];
    return true;
  };
  /** Two who go on in one conversation with a name at the same time. It has the history of one of them afterwards. */
  const rivalry = async (chat: Chat): Promise<void> => {
    const rivals = [' slow', pick(['', ' slow'])].map((tail): readonly [Chat, string] => [{ ...chat }, tail]);
    await Promise.all(rivals.map(([rival, tail]) => question(rival, tail, true)));
    const [winner] = pick(rivals as [(typeof rivals)[number], ...typeof rivals]);
    chat.history = winner.history;
    chat.lines = winner.lines;
  };
  /** What one client does, one after the other, in conversations of its own. */
  const client = async (number: number, steps: number): Promise<void> => {
    const chats: Chat[] = [];
    for (let done = 0; done < steps; done += 1) {
      const known = chats.length > 0 && isSo(0.7) ? chats[Math.floor(random() * chats.length)] : undefined;
      // Owners have conversations of one name.
      const chat: Chat = known ?? {
        owner: number === 0 ? KEY : OTHER_KEY,
        name: isSo(0.4) ? `desk-${done}` : undefined,
        ...{ history: [], lines: [], isApproved: false },
      };
      if (known !== undefined && isSo(0.25) && chat.lines.length === chat.history.length) {
        // Edited, or an answer asked for again. A message alone goes on in a named conversation.
        const kept = Math.max(chat.name === undefined ? 0 : 2, Math.floor((random() * chat.history.length) / 2) * 2);
        chat.history = chat.history.slice(0, kept);
        chat.lines = chat.lines.slice(0, kept);
      }
      if (known !== undefined && known.name !== undefined && !known.isApproved && isSo(0.25)) {
        await rivalry(known);
        continue;
      }
      const isAnswered = await question(chat, pick(['', '', ' slow', ' call', ' pay', ' slow call']));
      if (isAnswered && known === undefined) chats.push(chat);
      if (!isAnswered && known !== undefined) chats.splice(chats.indexOf(chat), 1);
    }
  };
  const checkOwners = async (): Promise<void> => {
    for (const [conversation, owner] of seen)
      for (const key of [KEY, OTHER_KEY]) {
        const { world } = servers.bridgeAt(0);
        const found = await world.send(`/v1/conversations/${conversation}`, undefined, {
          authorization: `Bearer ${key}`,
        });
        assert.is(found.status, key === owner ? 200 : 404, `${conversation} of ${owner} for ${key}: ${found.status}`);
      }
  };
  return {
    story: story as readonly string[],
    async run(steps: number): Promise<void> {
      await arena.during(Promise.all(Array.from({ length: CLIENTS }, (_, number) => client(number, steps))));
      assert.is(model.mixedUp.length, 0, `mixed up: ${JSON.stringify(model.mixedUp)}`);
      assert.is(model.repeated().length, 0, `ran again: ${model.repeated()}`);
      await arena.during(checkOwners());
    },
    async stop(): Promise<void> {
      await arena.during(servers.stop());
      await arena.close();
    },
  };
};

/** One random play of clients at two bridges over two agent servers. Rejects with the seed where a promise was not kept. */
export const play = async (seed: number, steps: number, openArena: OpenArena): Promise<void> => {
  const { run, stop, story } = await openPlay(seed, openArena);
  try {
    await run(steps);
  } catch (error) {
    const what = error instanceof Error ? error.message : error;
    await stop().catch(() => {});
    throw new Error([`play ${seed}: ${what}`, ...story].join('\n'));
  }
  await stop();
};
