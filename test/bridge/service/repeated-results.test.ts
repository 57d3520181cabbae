import * as assert from 'uvu/assert';
import { calling, replying } from '../../agent/harness/world.ts';
import { describe } from '../../check.ts';
import { dictated } from '../harness/model-scripts.ts';
import { type Call, chatWith, QUESTION, resultsOf, TOOLS, WEATHER } from '../harness/tools-world.ts';
import { OTHER_KEY, sessionsMade, user, withBridge } from '../harness/world.ts';

const weather = { name: 'weather', input: { city: 'Oslo' } };

describe('results of a call that was answered before', (check) => {
  const ONE = { bridges: 1 };
  const RAIN = [calling(weather), replying('It rains.'), replying('Bye.'), replying('Sun.')];
  const item = ({ id }: Call, output: string) => ({ type: 'function_call_output', call_id: id, output });

  check('get the first answer after the whole history, whatever they are', () =>
    withBridge({ ...ONE, scripts: RAIN }, async (world) => {
      const asked = await chatWith(world, QUESTION);
      const messages = (output: string) => [...QUESTION, asked.message, ...resultsOf(asked.calls, () => output)];
      const first = await chatWith(world, messages('rain'));
      for (const output of ['rain', 'sun']) {
        const again = await chatWith(world, messages(output));
        assert.equal([again.status, again.message.content], [200, first.message.content]);
      }
      await chatWith(world, [...messages('rain'), first.message, user('Thanks')]);
      assert.is((await chatWith(world, messages('sun'))).message.content, 'It rains.');
      assert.equal([sessionsMade(world).length, world.agent.asked.length], [1, 3]);
    }),
  );

  check('get it by the id of the response before, also while its turn runs', () => {
    const model = dictated();
    return withBridge({ ...ONE, scripts: [calling(weather), model.script] }, async (world) => {
      const send = async (body: object) => {
        const tools = [{ type: 'function', ...WEATHER.function }];
        return JSON.parse(await (await world.send('/v1/responses', { tools, ...body })).text());
      };
      const asked = await send({ input: 'How is the weather?' });
      const call = asked.output.find(({ type }: { type: string }) => type === 'function_call');
      const goOn = (output: string) =>
        send({ previous_response_id: asked.id, input: [item({ ...call, id: call.call_id }, output)] });
      const first = goOn('rain');
      await model.begun;
      const second = goOn('sun');
      model.addReply('It rains.');
      model.end();
      const ids = [(await first).id, (await second).id, (await goOn('rain')).id];
      assert.equal(new Set(ids).size, 1);
      assert.equal([sessionsMade(world).length, world.agent.asked.length], [1, 2]);
    });
  });

  check('get no answer of another history or key', () =>
    withBridge({ ...ONE, scripts: RAIN }, async (world) => {
      const asked = await chatWith(world, QUESTION);
      const results = resultsOf(asked.calls);
      await chatWith(world, [...QUESTION, asked.message, ...results]);
      const changed = await chatWith(world, [user('And in Rome?'), asked.message, ...results]);
      assert.is(changed.message.content, 'Bye.');
      const other = { authorization: `Bearer ${OTHER_KEY}` };
      const elsewhere = await chatWith(world, [...QUESTION, asked.message, ...results], { tools: TOOLS }, other);
      assert.is(elsewhere.message.content, 'Sun.');
    }),
  );

  check('that no call has waited for are answered anew each time', () =>
    withBridge({ ...ONE, scripts: [replying('One.'), replying('Two.')] }, async (world) => {
      const call = { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{}' } };
      const messages = [...QUESTION, { role: 'assistant', content: null, tool_calls: [call] }, ...resultsOf([call])];
      const answers = [await chatWith(world, messages), await chatWith(world, messages)];
      assert.equal(
        answers.map(({ message }) => message.content),
        ['One.', 'Two.'],
      );
    }),
  );
});
