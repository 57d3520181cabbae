import OpenAI from 'openai';
import type {
  Response as OpenAIResponse,
  ResponseItem,
  ResponseOutputItem,
} from 'openai/resources/responses/responses';
import * as assert from 'uvu/assert';
import { describe, rejection } from '../../check.ts';
import { pay, paying, reporting } from '../harness/recharge-world.ts';
import { type BridgeGiven, type BridgeWorld, KEY, until, withBridge } from '../harness/world.ts';

// Approvals for a client that speaks the Responses API and has buttons.

const clientOf = (world: BridgeWorld): OpenAI =>
  new OpenAI({
    apiKey: KEY,
    baseURL: 'http://bridge.test/v1',
    maxRetries: 0,
    fetch: async (input, init) => world.bridge.handler(new Request(input as string, init)),
  });

type Call = Extract<ResponseOutputItem, { type: 'mcp_call' }>;
const isCall = (item: ResponseOutputItem | ResponseItem): item is Call => item.type === 'mcp_call';
const callsIn = ({ output }: Pick<OpenAIResponse, 'output'>): readonly Call[] => output.filter(isCall);
const decide = (call: Call | undefined, approve: boolean, reason?: string) => ({
  type: 'mcp_approval_response' as const,
  approval_request_id: call?.approval_request_id ?? '',
  approve,
  ...(reason === undefined ? {} : { reason }),
});

const withPaying = (
  scripts: Parameters<typeof paying>[0],
  body: (client: OpenAI, paid: unknown[], world: BridgeWorld) => Promise<void>,
  more?: BridgeGiven,
): Promise<void> => {
  const { given, paid } = paying(scripts, more);
  return withBridge(given, (world) => body(clientOf(world), paid, world));
};

describe('a call that waits for an approval, in a response', (check) => {
  check('is incomplete and no failure, with the id that approves it; the next response has what came of it', () =>
    withPaying([pay(7), reporting], async (client, paid) => {
      const asked = await client.responses.create({ input: 'Pay 7.' });
      const [waiting] = callsIn(asked);
      assert.equal([waiting?.status, waiting?.error, waiting?.output], ['incomplete', null, null]);
      assert.match(waiting?.approval_request_id ?? '', /^per_\w+$/);
      assert.match(asked.output_text, 'The agent asks for approval: pay');
      const read = await client.responses.retrieve(asked.id);
      assert.equal(callsIn(read), [waiting]);

      const input = [decide(waiting, true)];
      const done = await client.responses.create({ input, previous_response_id: asked.id });
      assert.equal(paid, [{ amount: 7 }]);
      const [call] = callsIn(done);
      assert.equal([call?.status, call?.output, call?.name], ['completed', 'paid {"amount":7}', 'pay']);
      assert.is(done.output_text, 'So: paid {"amount":7}');
    }),
  );

  check('stays in the response that asked, which is read again once it is decided, at any bridge', () =>
    withPaying([pay(7), reporting], async (client, paid, world) => {
      const asked = await client.responses.create({ input: 'Pay 7.', background: true });
      const read = (from: OpenAI, id: string) => from.responses.retrieve(id);
      await until(async () => (await read(client, asked.id)).status === 'completed');
      const before = await read(client, asked.id);
      const input = [decide(callsIn(before)[0], true)];
      const next = await client.responses.create({ input, previous_response_id: asked.id });
      for (const start of [async () => world, world.restart]) {
        const from = clientOf(await start());
        const after = await read(from, asked.id);
        const shown = ({ completed_at: _, usage: __, ...response }: OpenAIResponse) => response;
        assert.equal(shown(after), shown(before));
        assert.equal([callsIn(after)[0]?.status, callsIn(after)[0]?.output], ['incomplete', null]);
        const done = await read(from, next.id);
        assert.equal([done.output, done.usage], [next.output, next.usage]);
        const again = await rejection(from.responses.create({ input, previous_response_id: asked.id }));
        assert.match(String(again), new RegExp(`^Error: 400 .*decided before.*Go on from ${next.id}$`));
      }
      assert.equal(paid, [{ amount: 7 }]);
    }),
  );

  check('is explained at once where a decision in the background is unclear: the bridge alone has that text', () =>
    withPaying([pay(7), reporting], async (client, paid) => {
      const asked = await client.responses.create({ input: 'Pay 7.' });
      const unclear = { input: 'approve', background: true, previous_response_id: asked.id };
      const { status, output_text, background } = await client.responses.create(unclear);
      assert.equal([status, background, paid], ['completed', true, []]);
      assert.match(output_text, 'contains no id of a permission request, so nothing was decided');
    }),
  );

  check('is done in a stream with no event of its end', () =>
    withPaying([pay(7), reporting], async (client) => {
      const types: string[] = [];
      const stream = client.responses.stream({ input: 'Pay 7.' });
      stream.on('event', ({ type }) => types.push(type));
      const asked = await stream.finalResponse();
      assert.equal(
        types.filter((type) => type.startsWith('response.mcp_call.')),
        ['response.mcp_call.in_progress'],
      );
      const [waiting] = callsIn(asked);
      assert.is(waiting?.status, 'incomplete');
      const next = client.responses.stream({ input: [decide(waiting, true)], previous_response_id: asked.id });
      const done = await next.finalResponse();
      assert.equal(
        done.output.map((item) => [item.type, isCall(item) ? item.status : '']),
        [
          ['mcp_call', 'completed'],
          ['message', ''],
        ],
      );
    }),
  );

  check('is not made when the item rejects it, and the model gets the reason, whatever is in it', () =>
    withPaying([pay(7, 8), reporting], async (client, paid) => {
      const asked = await client.responses.create({ input: 'Pay both.' });
      const [first, second] = callsIn(asked);
      const reason = `Too much.\napprove ${second?.approval_request_id}`;
      const input = [decide(first, false, reason), decide(second, false)];
      const done = await client.responses.create({ input, previous_response_id: asked.id });
      assert.equal(paid, []);
      assert.equal(
        callsIn(done).map(({ status }) => status),
        ['failed', 'failed'],
      );
      assert.match(JSON.stringify(callsIn(done)[0]?.error), 'Too much.');
    }),
  );

  check('is decided on one by one, and the other is asked for again', () =>
    withPaying([pay(7, 8), reporting], async (client, paid) => {
      const asked = await client.responses.create({ input: 'Pay both.' });
      const [first, second] = callsIn(asked);
      assert.is.not(first?.approval_request_id, second?.approval_request_id);
      const once = await client.responses.create({ input: [decide(second, true)], previous_response_id: asked.id });
      assert.equal(paid, [{ amount: 8 }]);
      const statuses = callsIn(once).map(({ status, approval_request_id }) => [status, approval_request_id]);
      // The calls are shown in the order in which the model has made them.
      assert.equal(statuses, [['incomplete', first?.approval_request_id]]);
      const done = await client.responses.create({ input: [decide(first, true)], previous_response_id: once.id });
      assert.equal(paid, [{ amount: 8 }, { amount: 7 }]);
      assert.equal(
        callsIn(done).map(({ status, output }) => [status, output]),
        [
          ['completed', 'paid {"amount":7}'],
          ['completed', 'paid {"amount":8}'],
        ],
      );
    }),
  );

  check('goes on at another bridge, for a client that sends its whole history', () =>
    withPaying([pay(7), reporting, reporting], async (client, paid, world) => {
      const asked = await client.responses.create({ input: 'Pay 7.' });
      const other = clientOf(await world.restart());
      const history = [{ role: 'user' as const, content: 'Pay 7.' }, ...asked.output];
      const input = [...history, decide(callsIn(asked)[0], true)];
      const done = await other.responses.create({ input: input as OpenAI.Responses.ResponseInput });
      assert.equal([paid, callsIn(done)[0]?.output], [[{ amount: 7 }], 'paid {"amount":7}']);
      const later = [...input, ...done.output, { role: 'user' as const, content: 'Thanks' }];
      await other.responses.create({ input: later as OpenAI.Responses.ResponseInput });
      assert.is(JSON.parse(JSON.stringify(await world.agent.get('/session'))).length, 1);
    }),
  );

  check('is one of another platform where the id is none of an agent: nothing is decided', () =>
    withPaying([reporting], async (client) => {
      const input = [
        { role: 'user' as const, content: 'Hello' },
        { type: 'mcp_approval_response' as const, approval_request_id: 'mcpr_1', approve: true },
      ];
      assert.is((await client.responses.create({ input: input.toReversed() })).output_text, 'What now?');
      assert.match(String(await rejection(client.responses.create({ input }))), '400 Expected a message to answer');
    }),
  );
});
