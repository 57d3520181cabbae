import * as assert from 'uvu/assert';
import type { Session } from '../../../src/agent/protocol/types.ts';
import { answer, calls, type Piece, reasoning, refusal, text } from '../../../src/demo/model/reply.ts';
import type { ReceivedRequest } from '../../../src/demo/model/request.ts';
import { rejection } from '../../check.ts';
import { isNoTitle } from '../agent/world.ts';
import { BRIDGE_KEY, type BridgeWorld } from './world.ts';

/** What a client library has made of one answer. */
export type Received = {
  readonly words: string;
  /** The words as they came; all at once where no stream was asked for. */
  readonly pieces: readonly string[];
  /** Empty where the library has no place for it. */
  readonly thoughts: string;
  /** What goes in, what comes out, and both. */
  readonly tokens: readonly (number | undefined)[];
  readonly finish: unknown;
};

/** A chat, held in the library's own way. A failure rejects. */
type Chat = { readonly sendText: (words: string) => Promise<Received> };

export type ChatNeeds = {
  readonly baseURL: string;
  readonly apiKey: string;
  readonly model: string;
  readonly fetch: typeof fetch;
  /** Called with its arguments when the library runs the client's own tool; gives its result. */
  readonly onOwnTool: (input: unknown) => string;
};

export type Client = {
  readonly name: string;
  readonly isStreamed: boolean;
  /** Whether it shows what was thought. */
  readonly hasThoughts: boolean;
  /** Whether it runs the client's own tool when it is called, and asks again with the result. */
  readonly runsTools?: boolean;
  readonly startChat: (needs: ChatNeeds) => Chat;
};

/** A tool of the agent. */
export const TOOL = 'tools_echo';
/** The tool that every client brings. */
export const OWN_TOOL = 'client_lookup';
export const OWN_PARAMETERS = {
  type: 'object' as const,
  properties: { city: { type: 'string' as const } },
  required: ['city'],
  additionalProperties: false as const,
};
const MODEL = 'demo/main';
const FAMILY = '👨‍👩‍👧‍👦';
/** Flags, families, skin tones, Thai, Hindi, Hangul of parts, accents of their own, and a line break of two. */
export const TRICKY = `a${FAMILY}b🇫🇷🇩🇪c👍🏽d e\u0301 กำลัง नि \u1112\u1161\u11ab 한 ${FAMILY}\r\nสวัสดีครับ 🏴󠁧󠁢󠁥󠁮󠁧󠁿.`;

/** In pieces that end amid characters. */
export const TRICKY_PIECES: readonly string[] = TRICKY.match(/.{1,5}/gsu) ?? [];

type Sent = { readonly url: string; readonly headers: Headers; response: Response | undefined };
/** A fetch, and what it was used for. */
type Counted = {
  readonly fetch: typeof fetch;
  readonly sent: readonly Sent[];
  /** Resolves when it is used for the so-manieth time. */
  readonly untilSent: (count: number) => Promise<void>;
};

/** The fetch of this process, which keeps account of what it was used for, also where nothing came of it. */
export const countedFetch = (): Counted => {
  const sent: Sent[] = [];
  const awaited = new Map<number, () => void>();
  return {
    sent,
    untilSent: (count) => new Promise((resolve) => awaited.set(count, resolve)),
    async fetch(input, init) {
      const { url, headers } = new Request(input as string, { ...init, signal: null });
      const one: Sent = { url, headers, response: undefined };
      sent.push(one);
      awaited.get(sent.length)?.();
      one.response = await fetch(input, init);
      return one.response;
    },
  };
};

let chats = 0;
/** Words that nobody has said before: equal chats are not told apart by what was said in them. */
export const newText = (): string => {
  chats += 1;
  return `question ${chats} of ${process.pid}`;
};

const lastLines = ({ turns }: ReceivedRequest): string => turns.findLast(({ role }) => role === 'user')?.text ?? '';
const hasToolResult = ({ turns }: ReceivedRequest): boolean => turns.at(-1)?.role === 'tool';

/** What clients need of a world: a model, an agent and the bridge before it. */
export type ClientWorld = Pick<BridgeWorld, 'model' | 'agent' | 'bridge'>;

/** The questions that the model was really asked. */
export const asked = ({ model }: Pick<ClientWorld, 'model'>): readonly ReceivedRequest[] =>
  model.requests().filter(isNoTitle);

/** The agent's sessions, as it lists them. */
export const sessionsOf = async ({ agent }: Pick<ClientWorld, 'agent'>): Promise<readonly Session[]> =>
  (await agent.ask<readonly Session[]>('GET', '/session')).json;

/** A turn in which the agent runs the tool, or asks for leave to. */
export const scriptTool = ({ model }: Pick<ClientWorld, 'model'>, name: string = TOOL): void => {
  model.addReply(answer([...text('I ', 'look.'), ...calls({ name, arguments: { words: 'five' } })]), isNoTitle);
  model.addReply(answer(text('It is ', 'five.')), (question) => isNoTitle(question) && hasToolResult(question));
};

/** What a person is asked to reply in order to allow what the agent wants to do. */
export const approvalIn = (words: string): string => {
  const [, reply] = /Reply "(approve \w+)"/.exec(words) ?? [];
  if (reply === undefined) throw new Error(`nobody asks for leave in: ${words}`);
  return reply;
};

/** The places at which a text may be cut without a person seeing it. */
const seams = (words: string): ReadonlySet<number> =>
  new Set([...new Intl.Segmenter().segment(words)].map(({ index }) => index).concat(words.length));

/** Fails unless the pieces are the words, cut only where nobody sees it. */
export const assertWholeGraphemes = (pieces: readonly string[], words: string): void => {
  assert.is(pieces.join(''), words);
  const whole = seams(words);
  let at = 0;
  for (const piece of pieces) {
    at += piece.length;
    assert.ok(whole.has(at), `cut amid a character: ${JSON.stringify(pieces)}`);
  }
};

const COST = { prompt: 30, completion: 7, cached: 10, reasoning: 2 } as const;
const TOKENS = [30, 7, 37];
/** One that no backend would be asked again for. */
const BROKEN: Piece = { kind: 'error', code: 'invalid_request_error', message: 'no' };
const FAILED = /agent's (?:model|turn) failed/;

const matchesIn = (error: unknown): string => {
  const { message = '', error: inner, cause } = Object(error) as { message?: string; error?: unknown; cause?: unknown };
  return `${String(error)} ${message} ${JSON.stringify(inner ?? '')} ${cause === undefined ? '' : matchesIn(cause)}`;
};

type Beside = (body: (world: ClientWorld) => Promise<void>) => () => Promise<void>;
type Chatting = Chat &
  Counted & {
    readonly newChat: () => Chat;
    readonly world: ClientWorld;
    readonly ownTool: { ran: number };
  };

/** What every client library must find, whichever way it asks. */
export const checkClient = (
  check: (name: string, body: () => Promise<void>) => void,
  { beside, client }: { readonly beside: Beside; readonly client: Client },
): void => {
  const chatting = (body: (chat: Chatting) => Promise<void>) =>
    beside(async (world) => {
      const counted = countedFetch();
      const ownTool = { ran: 0 };
      const onOwnTool = () => `ran ${++ownTool.ran}`;
      const place = { baseURL: world.bridge.baseURL, apiKey: BRIDGE_KEY, model: MODEL, fetch: counted.fetch };
      const newChat = () => client.startChat({ ...place, onOwnTool });
      await body({ ...newChat(), newChat, ...counted, world, ownTool });
    });

  check(
    'receives an answer, what was thought and what it cost',
    chatting(async ({ sendText, world }) => {
      const outputText = answer([...reasoning('Let me ', 'think.'), ...text('Good ', 'day.')], { usage: COST });
      world.model.addReply(outputText, isNoTitle);
      const { words, thoughts, tokens, finish } = await sendText(newText());
      assert.equal([words, tokens, finish], ['Good day.', TOKENS, 'stop']);
      assert.is(thoughts, client.hasThoughts ? 'Let me think.' : '');
    }),
  );

  check(
    'receives an answer of emoji, flags and other scripts as it was said',
    chatting(async ({ sendText, world }) => {
      world.model.addReply(answer(text(...TRICKY_PIECES)), isNoTitle);
      const { words, pieces } = await sendText(newText());
      assert.is(words, TRICKY);
      if (client.isStreamed) assert.ok(pieces.length > 1);
      assertWholeGraphemes(pieces, TRICKY);
    }),
  );

  check(
    'receives the result of a tool that the agent ran, and runs none itself',
    chatting(async ({ sendText, world, ownTool, sent }) => {
      scriptTool(world);
      const { words, finish } = await sendText(newText());
      assert.equal([words, finish], ['I look.\n\nIt is five.', 'stop']);
      assert.equal([ownTool.ran, sent.length, asked(world).length], [0, 1, 2]);
      assert.match(JSON.stringify(asked(world)[1]?.turns.at(-1)), 'five');
    }),
  );

  check(
    'is asked for approval in the chat, gives it, and receives the result',
    chatting(async ({ sendText, world, sent }) => {
      scriptTool(world, 'tools_noise');
      const { words, finish } = await sendText(newText());
      assert.ok(
        words.startsWith(
          `I look.\n\nThe agent asks for approval: tools_noise\n\`\`\`text\n{"words":"five"}\n\`\`\`\nReply "approve `,
        ),
        words,
      );
      assert.equal([finish, asked(world).length], ['stop', 1]);
      const after = await sendText(approvalIn(words));
      assert.is(after.words, 'It is five.');
      assert.equal([sent.length, asked(world).length], [2, 2]);
      assert.match(JSON.stringify(asked(world)[1]?.turns.at(-1)), 'quiet');
      assert.equal((await world.agent.ask('GET', '/permission')).json, []);
    }),
  );

  check(
    'has three turns in one session of the agent, none of them sent twice',
    chatting(async ({ sendText, world, sent }) => {
      const [first, second, third] = [newText(), newText(), newText()];
      const before = (await sessionsOf(world)).length;
      for (const words of [first, second, third]) {
        world.model.addReply(`Answer to ${words}.`, isNoTitle);
        assert.is((await sendText(words)).words, `Answer to ${words}.`);
      }
      assert.is((await sessionsOf(world)).length, before + 1);
      const collected = asked(world)
        .at(-1)
        ?.turns.map(({ text }) => text);
      assert.equal(collected, [first, `Answer to ${first}.`, second, `Answer to ${second}.`, third]);
      const names = new Set(sent.map(({ response }) => response?.headers.get('x-session-id')));
      assert.is(names.size, 1);
    }),
  );

  check(
    'learns of a model that fails at once or amid its answer, and the turn is run once',
    chatting(async ({ newChat, world, sent }) => {
      for (const failing of [refusal(400, 'bad_request'), answer([...text('so far '), BROKEN])]) {
        world.model.clear();
        world.model.alwaysReply(failing, isNoTitle);
        const count = sent.length;
        const words = newText();
        assert.match(matchesIn(await rejection(newChat().sendText(words))), FAILED);
        assert.equal([sent.length - count, asked(world).length], [1, 1]);
        assert.is(lastLines(asked(world)[0] as ReceivedRequest), words);
      }
    }),
  );
};
