import * as assert from 'uvu/assert';
import { ModelError } from '../../../src/agent/model/types.ts';
import { failing } from '../../agent/harness/world.ts';
import { describe } from '../../check.ts';
import { CHAT, calls, endsWith, polite, withStory } from '../harness/story-world.ts';
import { prompts, quietTime, until } from '../harness/world.ts';

const MINUTES_MS = 5 * 60_000;
const GRACE_MS = 300;
const CLOCKS: readonly (readonly [string, readonly number[]])[] = [
  ['ahead', [0, MINUTES_MS]],
  ['behind', [0, -MINUTES_MS]],
];
const PATH = '/v1/chat/completions';
const KEYED = { 'idempotency-key': 'once' };
const MARKED = { 'x-stainless-retry-count': '1' };
const FAILURE = new ModelError('api', 'It failed', { statusCode: 400 });
const RETRIES: readonly (readonly [string, Readonly<Record<string, string>>, Readonly<Record<string, string>>])[] = [
  ['marked as a retry', {}, MARKED],
  ['with the same key', KEYED, KEYED],
  ['not marked', {}, {}],
];

describe('a turn whose client tries again at a bridge with another time', (check) => {
  const given = (aheadMs: readonly number[]) => ({
    bridges: 2,
    aheadMs,
    settings: { onDisconnect: { kind: 'grace', ms: GRACE_MS } as const },
  });
  for (const [where, aheadMs] of CLOCKS)
    for (const [how, headers, again] of RETRIES) {
      check(`is read there to its end, ${how}: minutes ${where}`, () =>
        withStory(given(aheadMs), async (world, model) => {
          const first = calls(world, PATH, CHAT, headers);
          await model.begun;
          first.leave();
          await quietTime(50);
          const retry = world.chat(CHAT, again);
          await quietTime(1.5 * GRACE_MS);
          model.addReply('The end');
          model.end();
          assert.is((await retry).text, 'The end');
          await endsWith(world, 0);
          assert.is(prompts(world).length, 1);
        }),
      );

      check(`is ended once that client has left, too, ${how}: minutes ${where}`, () =>
        withStory(given(aheadMs), async (world, model) => {
          const first = calls(world, PATH, CHAT, headers);
          await model.begun;
          first.leave();
          await quietTime(50);
          const retry = calls(world, PATH, CHAT, again);
          await quietTime(50);
          retry.leave();
          await model.left;
          await until(() => world.readings().answersRunning === 0);
          await endsWith(world, 1);
        }),
      );
    }

  for (const [where, aheadMs] of CLOCKS) {
    check(`after it was answered gives its answer to one that is marked: minutes ${where}`, () =>
      withStory({ ...given(aheadMs), scripts: [polite] }, async (world) => {
        const first = await world.chat(CHAT);
        assert.is((await world.chat(CHAT, MARKED)).json.id, first.json.id);
        assert.is(prompts(world).length, 1);
      }),
    );

    check(`after it has failed gives its failure to one that is not marked: minutes ${where}`, () =>
      withStory({ ...given(aheadMs), scripts: [failing(FAILURE), polite] }, async (world) => {
        for (const _ of [1, 2, 3]) assert.is((await world.send(PATH, CHAT)).status, 502);
        assert.is(prompts(world).length, 1);
      }),
    );
  }
});
