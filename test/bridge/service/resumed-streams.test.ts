import * as assert from 'uvu/assert';
import { systemClock } from '../../../src/adapter/node/clock.ts';
import type { Clock } from '../../../src/core/clock.ts';
import type { Script } from '../../agent/harness/world.ts';
import { calling, outcome, replying, toolNamed } from '../../agent/harness/world.ts';
import { describe, thorough } from '../../check.ts';
import { clientOf, failureOf, JOB, untilStatus, withJob } from '../harness/background-world.ts';
import { dictated } from '../harness/model-scripts.ts';
import { idIn, paying } from '../harness/recharge-world.ts';
import { createStreamed, eventsIn, readStream, resumeStream, type StreamedEvent } from '../harness/resumed-streams.ts';
import { type BridgeGiven, KEY, quietTime, until, withBridge } from '../harness/world.ts';

// A client that loses the stream of a response in the background reads the rest of it from another one.

const idOf = ([first]: readonly StreamedEvent[]): string => (first?.response as { id: string } | undefined)?.id ?? '';
/** Without the response itself, which repeats members of its request only where that is known. */
const shown = (events: readonly StreamedEvent[]) =>
  events.map(({ response, ...event }) => {
    const { output, status } = (response ?? {}) as { output?: unknown; status?: unknown };
    return { ...event, output, status };
  });

const LONG = 'Once upon a time 👩‍👩‍👧 there were ships, é́é and flags 🇫🇷🇩🇪🇮🇹, क्षि and so on.\r\n'.repeat(30);
const both: Script = async function* (request, signal) {
  yield { kind: 'reasoning', delta: 'What a story it will be, ' };
  yield { kind: 'reasoning', delta: 'with ships and flags.' };
  yield { kind: 'text', delta: 'I look at two things.' };
  yield* calling({ name: 'slow', input: { n: 1 } }, { name: 'quick', input: { n: 2 } })(request, signal);
};
const storyOf = (...deltas: readonly string[]): Script =>
  async function* (request, signal) {
    for (const delta of deltas) yield { kind: 'text', delta };
    yield* calling({ name: 'pay', input: { amount: 5 } })(request, signal);
  };
/** In parts as they may come, some of which end within a character. */
const cutInto = (text: string, units: number): readonly string[] =>
  Array.from({ length: Math.ceil(text.length / units) }, (_, index) => text.slice(index * units, (index + 1) * units));

/** A response with reasoning, texts, two calls beside each other and an approval. `open` lets the first call end. */
const story = (more: BridgeGiven = {}) => {
  const { promise: gate, resolve: open } = Promise.withResolvers<void>();
  const slow = toolNamed('slow', async () => {
    await gate;
    return outcome('slowly done');
  });
  const { given } = paying([both, storyOf(...cutInto(LONG, 7))], more);
  return { given: { ...given, tools: [...(given.tools ?? []), slow, toolNamed('quick')] }, open };
};

describe('the stream of a response in the background', (check) => {
  check('goes on after any event, whole and without repetition, at any bridge and after its end', async () => {
    for (const settings of [{ chunkSize: 0 }, { chunkSize: 4 }]) {
      const { given, open } = story({ settings });
      open();
      await withBridge(given, async (world) => {
        const whole = await eventsIn(await createStreamed(world));
        const id = idOf(whole);
        const numbers = whole.map(({ sequence_number }) => sequence_number);
        assert.ok(numbers.every((number, index) => index === 0 || number > (numbers[index - 1] ?? 0)));
        assert.is(whole.filter(({ type }) => type === 'response.completed').length, 1);
        const text = whole
          .filter(({ type }) => type === 'response.output_text.delta')
          .map(({ delta }) => delta)
          .join('');
        assert.ok(text.includes(LONG));
        for (const start of [async () => world, world.restart]) {
          const place = await start();
          assert.equal(shown(await eventsIn(await resumeStream(place, id))), shown(whole));
          for (let cut = 0; cut < whole.length; cut += thorough(31, 1)) {
            const rest = await eventsIn(await resumeStream(place, id, numbers[cut]));
            assert.equal(shown(rest), shown(whole.slice(cut + 1)), `after event ${cut}`);
          }
        }
      });
    }
  });

  check('ends with an error alone where the agent cannot be read any more: the response goes on', async () => {
    const model = dictated();
    let aheadMs = 0;
    const clock: Clock = { ...systemClock, now: () => systemClock.now() + aheadMs };
    await withBridge({ scripts: [model.script], clock }, async (world) => {
      const streamed = readStream(await createStreamed(world));
      model.addReply('Once upon a time there were ships, ');
      await until(() => streamed.text().includes('Once'));
      world.killAgent();
      await quietTime(200);
      aheadMs = 180_000;
      const ends = (await streamed.whole).filter(({ type }) => type === 'error' || type === 'response.failed');
      assert.equal(
        ends.map(({ type, code }) => [type, code]),
        [['error', 'agent_interrupted']],
      );
    });
  });

  check('is followed while it is made, by readers that come at any time and at every bridge', async () => {
    const { given, open } = story({ bridges: 2 });
    await withBridge(given, async (world) => {
      const streamed = readStream(await createStreamed(world));
      const id = await streamed.id();
      const early = await Promise.all([resumeStream(world, id), resumeStream(world, id), resumeStream(world, id, 2)]);
      await until(async () => (await clientOf(world).responses.retrieve(id)).output.length === 4, 'both calls');
      const late = await Promise.all([resumeStream(world, id), resumeStream(world, id)]);
      open();
      const whole = shown(await streamed.whole);
      for (const response of [...early.slice(0, 2), ...late]) assert.equal(shown(await eventsIn(response)), whole);
      assert.equal(shown(await eventsIn(early[2] as Response)), whole.slice(3));
    });
  });

  check('waits for a response whose turn has not come, and is read by the client of OpenAI', () =>
    withJob({}, async (world, client, model) => {
      const first = await client.responses.create(JOB);
      await model.begun;
      const second = client.responses.create({ ...JOB, input: 'more', previous_response_id: first.id });
      const helped = client.responses.stream({ response_id: first.id, starting_after: 1 });
      model.addReply('Once upon a time');
      model.addReply(' there was a ship.');
      model.end();
      const seen: number[] = [];
      let text = '';
      for await (const event of helped) {
        seen.push(event.sequence_number);
        if (event.type === 'response.output_text.delta') text += event.delta;
      }
      assert.equal([text, seen.every((number) => number > 1)], ['Once upon a time there was a ship.', true]);
      assert.is((await helped.finalResponse()).output_text, text);
      const { id } = await second;
      const events = await client.responses.retrieve(id, { stream: true });
      let whole = '';
      for await (const event of events)
        if (event.type === 'response.completed') whole = event.response.output_text ?? '';
      assert.ok(whole === '' || whole === 'Well.');
      assert.is((await client.responses.retrieve(id)).output_text, 'Well.');
      assert.ok(world.calls.length > 0);
    }),
  );

  check('shows what was cancelled as failed, to its first reader and to later ones', () =>
    withJob({}, async (world, client, model) => {
      const streamed = readStream(await createStreamed(world));
      await model.begun;
      model.addReply('Once upon a time there was');
      const id = await streamed.id();
      const early = await resumeStream(world, id);
      await until(async () => (await client.responses.retrieve(id)).output_text !== '', 'a text');
      await client.responses.cancel(id);
      const namesOf = (events: readonly StreamedEvent[]) =>
        events.filter(({ type }) => type !== 'error').map(({ type, sequence_number }) => [type, sequence_number]);
      assert.equal(namesOf(await eventsIn(await resumeStream(world, id))), namesOf(await streamed.whole));
      assert.equal(namesOf(await eventsIn(early)), namesOf(await streamed.whole));
    }),
  );

  check('is exact while it is made here, also of a response that goes on after an approval', async () => {
    const model = dictated();
    const { given } = paying([storyOf('I pay five.'), model.script]);
    await withBridge(given, async (world) => {
      const client = clientOf(world);
      const first = await client.responses.create({ model: 'demo/main', input: 'story' });
      const input = `approve ${idIn(first.output_text)}`;
      const asked = { ...JOB, input, previous_response_id: first.id, stream: true };
      const streamed = readStream(await world.send('/v1/responses', asked));
      await model.begun;
      model.addReply('It is paid, and the ship is at sea.');
      await until(() => streamed.text().includes('is paid'), 'a text');
      const id = await streamed.id();
      const followers = [undefined, 1, 3].map((after) => resumeStream(world, id, after));
      const rest = (await Promise.all(followers)).map(eventsIn);
      model.end();
      const whole = shown(await streamed.whole);
      assert.equal((await Promise.all(rest)).map(shown), [
        whole,
        whole.slice(2),
        whole.filter(({ sequence_number }) => sequence_number > 3),
      ]);
      assert.is(world.answers.length, 2);
    });
  });

  check('is the same once an approval is decided, of the response that asked and of the one that goes on', async () => {
    const paysBeside: Script = async function* (request, signal) {
      yield { kind: 'text', delta: 'I pay, and look at something.' };
      yield* calling({ name: 'pay', input: { amount: 5 } }, { name: 'quick', input: { n: 1 } })(request, signal);
    };
    const { given } = paying([paysBeside, storyOf('It is paid. Now the other one.'), replying('Both are paid.')]);
    const tools = [...(given.tools ?? []), toolNamed('quick')];
    await withBridge({ ...given, tools }, async (world) => {
      const wholes: (readonly StreamedEvent[])[] = [];
      const ask = async (more: object) => {
        const events = await eventsIn(await world.send('/v1/responses', { ...JOB, ...more, stream: true }));
        wholes.push(events);
        const text = events.map(({ delta }) => delta ?? '').join('');
        return { previous_response_id: idOf(events), input: `approve ${idIn(text)}` };
      };
      const input = await ask({});
      const other = await ask(input);
      wholes.push(await eventsIn(await world.send('/v1/responses', { ...JOB, ...other, stream: true })));
      assert.equal(
        wholes.map((whole) => whole.at(-1)?.type),
        Array(3).fill('response.completed'),
      );
      for (const start of [async () => world, world.restart]) {
        const place = await start();
        for (const whole of wholes)
          assert.equal(shown(await eventsIn(await resumeStream(place, idOf(whole)))), shown(whole));
      }
    });
  });

  check('has its one value at the end, where it has to be one of a form', () => {
    const format = { type: 'json_schema', name: 'ship', schema: { type: 'object' } } as const;
    const given = { scripts: [replying('{"name":', '"Anna"}')] };
    return withBridge(given, async (world) => {
      const client = clientOf(world);
      const { id } = await client.responses.create({ ...JOB, text: { format } });
      const text = await client.responses.stream({ response_id: id }).finalResponse();
      assert.is(text.output_text, '{"name":"Anna"}');
    });
  });

  check('is refused where there is none: of other responses, and after what is no number', () =>
    withBridge({ scripts: [replying('Done.'), replying('Done.')] }, async (world) => {
      const client = clientOf(world);
      const plain = await client.responses.create({ model: 'demo/main', input: 'story' });
      const refused = await failureOf(client.responses.retrieve(plain.id, { stream: true }));
      assert.equal(refused, { status: 400, code: 'unsupported_value', param: 'stream' });
      const { id } = await client.responses.create(JOB);
      for (const [query, param] of [
        ['stream=yes', 'stream'],
        ['stream=true&starting_after=-1', 'starting_after'],
        ['starting_after=3', 'starting_after'],
      ]) {
        const asked = new Request(`http://bridge.test/v1/responses/${id}?${query}`, {
          headers: { authorization: `Bearer ${KEY}` },
        });
        const response = await world.bridge.handler(asked);
        const { error } = (await response.json()) as { error: { param: string } };
        assert.equal([response.status, error.param], [400, param]);
      }
      await untilStatus(client, id, 'completed');
    }),
  );

  for (const bridges of [1, 2])
    check(
      `is one of a limited number, apart from the answers${bridges === 1 ? '' : ', also where another bridge makes it'}`,
      () =>
        withJob({ bridges, settings: { answersAtATime: 1 } }, async (world, _client, model) => {
          const streamed = readStream(await createStreamed(world));
          await model.begun;
          const id = await streamed.id();
          if (bridges === 1) assert.is(world.readings().answersRunning, 1);
          const [first, second, refused] = await Promise.all([1, 2, 3].map(() => resumeStream(world, id)));
          const others = bridges === 1 ? [second, refused] : [refused];
          for (const response of others) {
            assert.equal([response?.status, response?.headers.get('retry-after')], [503, '1']);
            const { error } = (await (response as Response).json()) as { error: { code: string } };
            assert.is(error.code, 'overloaded');
          }
          assert.is(world.readings().streamsResumed, bridges);
          model.end();
          await streamed.whole;
          await first?.text();
          if (bridges === 2) await second?.text();
          assert.is(world.readings().streamsResumed, 0);
          assert.is((await eventsIn(await resumeStream(world, id))).at(-1)?.type, 'response.completed');
        }),
    );

  check('ends for a client that does not read it, also where its response is made, which goes on', () => {
    const UNREAD_MS = 30_000;
    const clock = {
      ...systemClock,
      after: (ms: number, task: () => void) => systemClock.after(ms === UNREAD_MS ? 10 : ms, task),
    };
    return withJob({ clock, settings: { answersAtATime: 1 } }, async (world, client, model) => {
      const streamed = readStream(await createStreamed(world));
      await model.begun;
      const id = await streamed.id();
      await resumeStream(world, id);
      await until(() => world.readings().streamsResumed === 0);
      model.end();
      await streamed.whole;
      await untilStatus(client, id, 'completed');
    });
  });
});
