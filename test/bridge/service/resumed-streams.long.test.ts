import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { withJob } from '../harness/background-world.ts';
import { createStreamed, eventsIn, lastNumber, readStream, resumeStream } from '../harness/resumed-streams.ts';
import { until } from '../harness/world.ts';

// A bridge that stops gives its answers some seconds.

describe('the stream of a response in the background', (check) => {
  check('ends with an error that is none of the response when its bridge stops, and is resumed at the next one', () =>
    withJob({}, async (world, _client, model) => {
      const streamed = readStream(await createStreamed(world));
      await model.begun;
      model.addReply('Once upon a time there was a ship');
      await until(() => streamed.text().includes('a time'), 'a text');
      const id = await streamed.id();
      const followed = resumeStream(world, id);
      const restarting = world.restart();
      const before = await streamed.whole;
      for (const events of [before, await eventsIn(await followed)]) {
        assert.equal([events.at(-1)?.type, events.at(-1)?.code], ['error', 'unavailable']);
        assert.not.ok(events.some(({ type }) => type === 'response.failed'));
      }
      const next = await restarting;
      const rest = resumeStream(next, id, lastNumber(before));
      model.addReply(' called Anna.');
      model.end();
      const all = [...before, ...(await eventsIn(await rest))];
      const text = all.flatMap(({ type, delta }) => (type === 'response.output_text.delta' ? [delta] : [])).join('');
      assert.equal([text, all.at(-1)?.type], ['Once upon a time there was a ship called Anna.', 'response.completed']);
    }),
  );
});
