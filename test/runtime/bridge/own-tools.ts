import * as assert from 'uvu/assert';
import { answer, calls, type ScriptedCall, text } from '../../../src/demo/model/reply.ts';
import type { ReceivedRequest } from '../../../src/demo/model/request.ts';
import { isNoTitle } from '../agent/world.ts';
import { callsIn } from '../bridge-clients/slow-tool.ts';
import { asked, type Client, type ClientWorld, newText, OWN_TOOL, sessionsOf, TOOL } from './clients.ts';
import { BRIDGE_KEY } from './world.ts';

type Model = Pick<ClientWorld, 'model'>;

/** A step of the model that says something and calls tools. */
export const addCalls = ({ model }: Model, ...made: readonly ScriptedCall[]): void =>
  model.addReply(answer([...text('I ', 'look.'), ...calls(...made)]), isNoTitle);

/** A call of the tool that every client brings. */
export const lookup = (city: string): ScriptedCall => ({ name: OWN_TOOL, arguments: { city } });

/** What the model was told of tools before a step of it. */
const resultsIn = (request: ReceivedRequest | undefined): readonly string[] =>
  (request?.turns ?? []).flatMap(({ role, text: words }) => (role === 'tool' ? [words] : []));

const usersIn = (request: ReceivedRequest | undefined): readonly string[] =>
  (request?.turns ?? []).flatMap(({ role, text: words }) => (role === 'user' ? [words] : []));

type Beside = (body: (world: ClientWorld) => Promise<void>) => () => Promise<void>;
type Chatting = {
  readonly sendText: (words: string) => Promise<{ readonly words: string }>;
  readonly world: ClientWorld;
  /** What the client's own tool was called with. */
  readonly ran: readonly unknown[];
};

/** What every client library that runs tools must find. */
export const checkOwnTools = (
  check: (name: string, body: () => Promise<void>) => void,
  { beside, client }: { readonly beside: Beside; readonly client: Client },
): void => {
  const chatting = (body: (chat: Chatting) => Promise<void>) =>
    beside(async (world) => {
      const ran: unknown[] = [];
      const onOwnTool = (input: unknown): string => {
        ran.push(typeof input === 'string' ? JSON.parse(input) : input);
        return `result ${ran.length}`;
      };
      const place = { baseURL: world.bridge.baseURL, apiKey: BRIDGE_KEY, model: 'demo/main', fetch };
      await body({ ...client.startChat({ ...place, onOwnTool }), world, ran });
    });

  check(
    'has its own tool called, twice in one step and once in the next, and has the answer and one session',
    chatting(async ({ sendText, world, ran }) => {
      const before = (await sessionsOf(world)).length;
      const [first, second] = [newText(), newText()];
      addCalls(world, lookup('Oslo'), lookup('Bergen'));
      addCalls(world, lookup('Narvik'));
      world.model.addReply('It is five.', isNoTitle);
      assert.match((await sendText(first)).words, /It is five\.$/);
      assert.equal(
        ran.map((input) => (input as { city: string }).city),
        ['Oslo', 'Bergen', 'Narvik'],
      );
      assert.equal([...resultsIn(asked(world)[1])].sort(), ['result 1', 'result 2']);
      assert.equal([...resultsIn(asked(world)[2])].sort(), ['result 1', 'result 2', 'result 3']);

      world.model.addReply('Good day.', isNoTitle);
      assert.match((await sendText(second)).words, /Good day\.$/);
      assert.equal([asked(world).length, ran.length], [4, 3]);
      assert.equal(usersIn(asked(world)[3]), [first, second]);
      assert.is((await sessionsOf(world)).length, before + 1);
    }),
  );

  check(
    'has its own tool called beside one of the agent, and each runs once where it belongs',
    chatting(async ({ sendText, world, ran }) => {
      addCalls(world, { name: TOOL, arguments: { words: 'five' } }, lookup('Oslo'));
      world.model.addReply('It is five.', isNoTitle);
      assert.match((await sendText(newText())).words, /It is five\.$/);
      assert.equal([ran, asked(world).length], [[{ city: 'Oslo' }], 2]);
      assert.match(resultsIn(asked(world)[1]).join(), /five/);
      assert.match(resultsIn(asked(world)[1]).join(), 'result 1');
      // The agent's own call and the client's.
      assert.is(await callsIn(world), 2);
    }),
  );
};
