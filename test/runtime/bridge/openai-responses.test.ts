import OpenAI, { type APIError, BadRequestError, NotFoundError } from 'openai';
import * as assert from 'uvu/assert';
import { answer, text } from '../../../src/demo/model/reply.ts';
import { describe, rejection } from '../../check.ts';
import { isNoTitle, until } from '../agent/world.ts';
import { asked, checkClient, newText, scriptTool, sessionsOf } from './clients.ts';
import { matchesIn, RESPONSES_CLIENTS } from './openai-responses.ts';
import { BRIDGE_KEY, type BridgeWorld, OTHER_BRIDGE_KEY, sharedBridgeWorld } from './world.ts';

type Made = OpenAI.Responses.Response;

const MODEL = 'demo/main';
const beside = sharedBridgeWorld({ bridge: { BRIDGE_ON_DISCONNECT: '200' } });

for (const client of Object.values(RESPONSES_CLIENTS))
  describe(`OpenAI's own client, responses, ${client.name}`, (check) => checkClient(check, { beside, client }));

const ownClient = ({ bridge }: BridgeWorld, apiKey = BRIDGE_KEY): OpenAI =>
  new OpenAI({ baseURL: bridge.baseURL, apiKey });

describe("OpenAI's own client, responses that are there", (check) => {
  check(
    'reads one again as it was, with the call that the agent made',
    beside(async (world) => {
      const openai = ownClient(world);
      scriptTool(world);
      const made = await openai.responses.create({ model: MODEL, input: newText() });
      const again = await openai.responses.retrieve(made.id);
      assert.equal([again.id, again.status, matchesIn(again)], [made.id, 'completed', 'I look.\n\nIt is five.']);
      assert.equal(again.output, made.output);
      assert.equal(again.usage, made.usage);
      assert.equal(
        made.output.map(({ type }) => type),
        ['message', 'mcp_call', 'message'],
      );
    }),
  );

  check(
    'reads what there was to one whose stream it left',
    beside(async (world) => {
      const openai = ownClient(world);
      world.model.addReply(answer([...text('so far '), { kind: 'hang' }]), isNoTitle);
      let id = '';
      for await (const event of await openai.responses.create({ model: MODEL, input: newText(), stream: true })) {
        if (event.type === 'response.created') id = event.response.id;
        if (event.type === 'response.output_text.delta') break;
      }
      let found: Made | undefined;
      await until('it is kept', async () => {
        found = await openai.responses.retrieve(id).catch(() => undefined);
        return found !== undefined && found.status !== 'in_progress';
      });
      assert.is(found === undefined ? '' : matchesIn(found), 'so far ');
      assert.ok(asked(world)[0]?.isAborted());
    }),
  );

  check(
    'goes on with the stream of one in the background that it left, by its helper and by number',
    beside(async (world) => {
      const openai = ownClient(world);
      const story = 'Once upon a time there were ships, and all of them were at sea.';
      world.model.addReply(answer(text(story)), isNoTitle);
      const asked = { model: MODEL, input: newText(), background: true, stream: true } as const;
      let [id, after, begun] = ['', 0, ''];
      for await (const event of await openai.responses.create(asked)) {
        if (event.type === 'response.created') id = event.response.id;
        after = event.sequence_number;
        if (event.type !== 'response.output_text.delta') continue;
        begun += event.delta;
        break;
      }
      const byNumber = await openai.responses.retrieve(id, { stream: true, starting_after: after });
      // Read at once: the helper has its events only for those who listen when they come.
      const helper = openai.responses.stream({ response_id: id, starting_after: after });
      for (const stream of [helper, byNumber]) {
        let rest = '';
        for await (const event of stream) if (event.type === 'response.output_text.delta') rest += event.delta;
        assert.is(begun + rest, story);
      }
      assert.is((await helper.finalResponse()).output_text, story);
    }),
  );

  check(
    'deletes one, which then is not there, neither to read nor to go on from',
    beside(async (world) => {
      const openai = ownClient(world);
      world.model.alwaysReply('Good day.', isNoTitle);
      const { id } = await openai.responses.create({ model: MODEL, input: newText() });
      const before = (await sessionsOf(world)).length;
      await openai.responses.delete(id);
      for (const call of [() => openai.responses.retrieve(id), () => openai.responses.delete(id)]) {
        const error = await rejection(call());
        assert.instance(error, NotFoundError);
      }
      const onward = { model: MODEL, input: 'more', previous_response_id: id };
      const error = await rejection(openai.responses.create(onward));
      assert.instance(error, BadRequestError);
      assert.equal(
        [(error as APIError).code, (error as APIError).param],
        ['previous_response_not_found', 'previous_response_id'],
      );
      await until('its session is gone', async () => (await sessionsOf(world)).length === before - 1);
      assert.is(asked(world).length, 1);
    }),
  );

  check(
    'are not there for anyone who has another key',
    beside(async (world) => {
      const [openai, unknownName] = [ownClient(world), ownClient(world, OTHER_BRIDGE_KEY)];
      world.model.alwaysReply('Good day.', isNoTitle);
      const { id } = await openai.responses.create({ model: MODEL, input: newText() });
      for (const call of [() => unknownName.responses.retrieve(id), () => unknownName.responses.delete(id)])
        assert.instance(await rejection(call()), NotFoundError);
      const stolen = unknownName.responses.create({ model: MODEL, input: 'more', previous_response_id: id });
      assert.is(((await rejection(stolen)) as APIError).code, 'previous_response_not_found');
      assert.is((await openai.responses.retrieve(id)).id, id);
    }),
  );

  check(
    'are continued from the middle, in a session that gets the conversation until then and no more',
    beside(async (world) => {
      const openai = ownClient(world);
      const [first, second, other] = [newText(), newText(), newText()];
      world.model.alwaysReply('Good day.', isNoTitle);
      const { id } = await openai.responses.create({ model: MODEL, input: first });
      await openai.responses.create({ model: MODEL, input: second, previous_response_id: id });
      const before = (await sessionsOf(world)).length;
      await openai.responses.create({ model: MODEL, input: other, previous_response_id: id });
      assert.is((await sessionsOf(world)).length, before + 1);
      const collected = JSON.stringify(asked(world).at(-1)?.turns);
      for (const words of [first, other]) assert.match(collected, words);
      assert.not.match(collected, second);
    }),
  );

  check(
    'go on in one conversation, whichever client names it, and not in that of another key',
    beside(async (world) => {
      const conversation = newText();
      const [openai, unknownName] = [ownClient(world), ownClient(world, OTHER_BRIDGE_KEY)];
      world.model.alwaysReply('Good day.', isNoTitle);
      await openai.responses.create({ model: MODEL, input: 'one', conversation });
      await openai.responses.create({ model: MODEL, input: 'two', conversation: { id: conversation } });
      const made = await unknownName.responses.create({ model: MODEL, input: 'three', conversation });
      assert.is(made.conversation?.id, conversation);
      assert.equal(
        asked(world).map(({ turns }) => turns.length),
        [1, 3, 1],
      );
    }),
  );
});
