import type { ResponseItem } from 'openai/resources/responses/responses';
import * as assert from 'uvu/assert';
import { calling, outcome, prompt, replying, toolNamed } from '../../agent/harness/world.ts';
import { describe } from '../../check.ts';
import { clientOf, failureOf, JOB, statusOf, untilStatus, withJob } from '../harness/background-world.ts';
import { byPrompt, dictated } from '../harness/model-scripts.ts';
import { pay, paying, reporting } from '../harness/recharge-world.ts';
import { aborts, callsTo, OTHER_KEY, prompts, quietTime, sessionsMade, until, withBridge } from '../harness/world.ts';

/** The texts of an input. */
const textsOf = ({ data }: { readonly data: readonly ResponseItem[] }) =>
  data.flatMap((item) =>
    item.type === 'message' ? [...item.content].map((part) => ('text' in part ? part.text : part.type)) : [],
  );

describe('a response in the background', (check) => {
  check('is answered before its end, shows how far it is, and is whole in the end', () =>
    withJob({}, async (world, client, model) => {
      const begun = await client.responses.create(JOB);
      assert.equal([begun.background, begun.status, begun.output], [true, 'in_progress', []]);
      await model.begun;
      model.addReply('Once upon ');
      await until(async () => (await client.responses.retrieve(begun.id)).output_text === 'Once upon ');
      const half = await client.responses.retrieve(begun.id);
      assert.equal([half.status, half.background], ['in_progress', true]);
      model.addReply('a time.');
      model.end();
      await untilStatus(client, begun.id, 'completed');
      const whole = await client.responses.retrieve(begun.id);
      assert.equal([whole.output_text, whole.background, whole.usage?.output_tokens], ['Once upon a time.', true, 5]);
      assert.is(prompts(world).length, 1);
    }),
  );

  check('is read from the agent once for all who look at it at a moment', () =>
    withJob({}, async (world, client, model) => {
      const { id } = await client.responses.create(JOB);
      await model.begun;
      const before = world.calls.length;
      await Promise.all(Array.from({ length: 50 }, () => client.responses.retrieve(id)));
      const reads = world.calls.slice(before).filter(({ path }) => path.endsWith('/message'));
      assert.ok(reads.length <= 10, `${reads.length} reads of all messages`);
      model.end();
    }),
  );

  check('goes on when its client leaves, whatever the bridge does with other answers', () =>
    withJob({ settings: { onDisconnect: { kind: 'abort' } } }, async (world, client, model) => {
      const stream = await client.responses.create({ ...JOB, stream: true });
      let id = '';
      for await (const event of stream) {
        if (event.type !== 'response.created') continue;
        id = event.response.id;
        assert.is(event.response.background, true);
        break;
      }
      await model.begun;
      await quietTime(30);
      model.addReply('The end.');
      model.end();
      await untilStatus(client, id, 'completed');
      assert.is((await client.responses.retrieve(id)).output_text, 'The end.');
      assert.is(aborts(world).length, 0);
    }),
  );

  check('is another one for an equal request, and the same one for a repeated request', () =>
    withBridge({ scripts: [replying('One.'), replying('Two.'), replying('Three.')] }, async (world) => {
      const client = clientOf(world);
      const [first, second] = [await client.responses.create(JOB), await client.responses.create(JOB)];
      assert.is.not(first.id, second.id);
      const named = { headers: { 'idempotency-key': 'job-1' } };
      const [third, again] = [await client.responses.create(JOB, named), await client.responses.create(JOB, named)];
      assert.is(again.id, third.id);
      await untilStatus(client, third.id, 'completed');
      assert.equal([prompts(world).length, sessionsMade(world).length], [3, 3]);
    }),
  );

  check('is there for its client to look at, also where a front end asks for a title with it', () =>
    withBridge({ scripts: [replying('Ships at Sea')] }, async (world) => {
      const client = clientOf(world);
      const input = 'Please generate a four to five word title summarizing our conversation without any lead-in';
      const { id } = await client.responses.create({ ...JOB, input });
      await untilStatus(client, id, 'completed');
    }),
  );

  check('runs between two steps, too, and is looked at after each', () => {
    const { promise: gate, resolve: open } = Promise.withResolvers<void>();
    const slow = toolNamed('slow', async () => {
      await gate;
      return outcome('done');
    });
    const given = { scripts: [calling({ name: 'slow', input: {} }), replying('Done.')], tools: [slow] };
    return withBridge(given, async (world) => {
      const client = clientOf(world);
      const { id } = await client.responses.create(JOB);
      await until(async () => (await client.responses.retrieve(id)).output.length > 0);
      assert.is(await statusOf(client, id), 'in_progress');
      open();
      await untilStatus(client, id, 'completed');
      assert.is((await client.responses.retrieve(id)).output_text, 'Done.');
    });
  });

  check('is queued or in progress, and has not failed, however often it is read while its turn begins', () =>
    withJob({}, async (_, client, model) => {
      const { id } = await client.responses.create(JOB);
      let hasBegun = false;
      void model.begun.then(() => {
        hasBegun = true;
      });
      const statuses: (string | undefined)[] = [];
      for (let left = 20; left > 0; left -= hasBegun ? 1 : 0) {
        const read = await Promise.all(Array.from({ length: 4 }, () => statusOf(client, id)));
        statuses.push(...read);
      }
      assert.equal(
        statuses.filter((status) => status !== 'queued' && status !== 'in_progress'),
        [],
      );
      assert.is(statuses.at(-1), 'in_progress');
      model.end();
      await untilStatus(client, id, 'completed');
    }),
  );

  check('is itself where another program sends a prompt to its session while it is made', () =>
    withJob({}, async (world, client, model) => {
      const { id } = await client.responses.create(JOB);
      await model.begun;
      model.addReply('Once');
      const [session] = (await world.agent.get('/session')) as readonly { readonly id: string }[];
      await world.agent.call('POST', `/session/${session?.id}/prompt_async`, prompt('Another question'));
      await until(async () => (await client.responses.retrieve(id)).output_text === 'Once');
      assert.equal(textsOf(await client.responses.inputItems.list(id)), ['story']);
      model.end();
      await untilStatus(client, id, 'completed');
    }),
  );

  check('that continues another one has its own input while it is made', () =>
    withJob({}, async (_, client, model) => {
      const first = await client.responses.create({ model: 'demo/main', input: 'One' });
      const { id } = await client.responses.create({ ...JOB, previous_response_id: first.id });
      await model.begun;
      assert.equal(textsOf(await client.responses.inputItems.list(id)), ['story']);
      model.end();
      await untilStatus(client, id, 'completed');
    }),
  );

  check('is cancelled, once however often, and is not begun again', () =>
    withJob({}, async (world, client, model) => {
      const { id } = await client.responses.create(JOB);
      await model.begun;
      model.addReply('Once');
      await until(async () => (await client.responses.retrieve(id)).output_text === 'Once');
      const [one, other] = await Promise.all([client.responses.cancel(id), client.responses.cancel(id)]);
      assert.equal([one.status, other.status], ['cancelled', 'cancelled']);
      const after = await client.responses.cancel(id);
      assert.equal([after.status, after.error], ['cancelled', null]);
      const made = await client.responses.retrieve(id);
      assert.equal([made.status, made.output_text], ['cancelled', 'Once']);
      await quietTime(20);
      assert.is(prompts(world).length, 1);
    }),
  );

  check('that ends while it is cancelled has the one after it go on', () => {
    const [first, second] = [dictated(), dictated()];
    const script = byPrompt({ story: first.script, more: second.script }, replying('Well.'));
    return withBridge({ scripts: [script, script] }, async (world) => {
      const client = clientOf(world);
      const { id } = await client.responses.create(JOB);
      await first.begun;
      const next = client.responses.create({ ...JOB, input: 'more', previous_response_id: id });
      const release = world.hold(({ path }) => path.endsWith('/cancel'));
      const cancelled = client.responses.cancel(id);
      await until(() => callsTo(world, 'POST', /\/cancel$/).length > 0);
      first.addReply('The end.');
      first.end();
      await second.begun;
      release();
      assert.is((await cancelled).status, 'completed');
      second.addReply('More.');
      second.end();
      const { id: nextID } = await next;
      await untilStatus(client, nextID, 'completed');
      assert.is((await client.responses.retrieve(nextID)).output_text, 'More.');
    });
  });

  check('that has ended stays as it is when it is cancelled', () =>
    withBridge({ scripts: [replying('Done.')] }, async (world) => {
      const client = clientOf(world);
      const { id } = await client.responses.create(JOB);
      await untilStatus(client, id, 'completed');
      assert.is((await client.responses.cancel(id)).status, 'completed');
      assert.is(aborts(world).length, 0);
    }),
  );

  check('is the only kind that is cancelled', () =>
    withBridge({ scripts: [replying('Done.')] }, async (world) => {
      const client = clientOf(world);
      const { id } = await client.responses.create({ model: 'demo/main', input: 'story' });
      assert.equal(await failureOf(client.responses.cancel(id)), {
        status: 400,
        code: 'unsupported_value',
        param: null,
      });
    }),
  );

  check('is not there for another key: neither to read nor to cancel nor to delete', () =>
    withJob({}, async (world, client, model) => {
      const { id } = await client.responses.create(JOB);
      await model.begun;
      const other = clientOf(world, OTHER_KEY);
      for (const call of [other.responses.retrieve(id), other.responses.cancel(id), other.responses.delete(id)])
        assert.is((await failureOf(call)).status, 404);
      for (const wrong of ['resp_nothing_000000000000', 'conv_1', '..%2F..'])
        assert.is((await failureOf(client.responses.cancel(wrong))).status, 404);
      assert.is(aborts(world).length, 0);
      model.end();
    }),
  );

  check('is not deleted while it is made, and is gone when it was', () =>
    withJob({}, async (_world, client, model) => {
      const { id } = await client.responses.create(JOB);
      await model.begun;
      assert.is((await failureOf(client.responses.delete(id))).status, 409);
      model.addReply('Done.');
      model.end();
      await untilStatus(client, id, 'completed');
      await client.responses.delete(id);
      assert.is((await failureOf(client.responses.retrieve(id))).status, 404);
    }),
  );

  check('is continued while it is made, and the next one waits for its end', () =>
    withJob({}, async (world, client, model) => {
      const { id } = await client.responses.create(JOB);
      await model.begun;
      const next = client.responses.create({ model: 'demo/main', input: 'more', previous_response_id: id });
      await quietTime(20);
      assert.is(world.agent.asked.length, 1);
      model.addReply('The end.');
      model.end();
      assert.is((await next).output_text, 'Well.');
      assert.is(sessionsMade(world).length, 1);
      assert.is((await client.responses.retrieve(id)).output_text, 'The end.');
    }),
  );

  check('ends with a permission request, and goes on with the answer to it', () => {
    const { given, paid } = paying([pay(5), reporting]);
    return withBridge(given, async (world) => {
      const client = clientOf(world);
      const { id } = await client.responses.create(JOB);
      await untilStatus(client, id, 'completed');
      const asked = (await client.responses.retrieve(id)).output_text;
      const [, approval = ''] = /Reply "approve (\w+)"/.exec(asked) ?? [];
      assert.equal(paid, []);
      const next = await client.responses.create({ input: `approve ${approval}`, previous_response_id: id });
      assert.match(next.output_text, 'So: paid');
      assert.equal(paid, [{ amount: 5 }]);
    });
  });
});
