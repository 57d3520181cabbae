import * as assert from 'uvu/assert';
import type { ResolvedModel } from '../../../../src/agent/agents/types.ts';
import { ModelError } from '../../../../src/agent/model/types.ts';
import type { Session } from '../../../../src/agent/protocol/types.ts';
import { describe } from '../../../check.ts';
import { target } from '../../harness/model-world.ts';
import { answersIn, ask, eventsOf, isQuiet, messagesOf, textOf } from '../../harness/permission-requests.ts';
import { calling, createAgentWorld, failing, outcome, replying, type Script, toolNamed } from '../../harness/world.ts';
import { promptTexts, SUMMARY, TOO_LONG } from './world.ts';

const PRICES = { input: 1, output: 2, cacheRead: 0, cacheWrite: 0 };

/** A model beside the one that answers. */
const createResolvedModel = ({
  modelID,
  upstreamID,
}: {
  readonly modelID: string;
  readonly upstreamID: string;
}): ResolvedModel => ({
  ref: { providerID: 'demo', modelID },
  target: target({ providerID: 'demo', upstreamID }),
  prices: PRICES,
  usableTokens: undefined,
  splitsThinking: false,
  takesTools: true,
  media: ['text'],
});

describe('a context that overflows', (check) => {
  check('is summed up once, and the step is tried again with the summary and the message', async () => {
    const world = await createAgentWorld({ scripts: [replying('one'), TOO_LONG, replying(SUMMARY), replying('two')] });
    const id = await world.session();
    await ask(world, id, 'first');
    const answer = await ask(world, id, 'second');
    assert.is(textOf(answer), 'two');
    assert.equal(promptTexts(world.asked[2]?.messages).slice(0, 3), ['first', '<one>', 'second']);
    assert.match(promptTexts(world.asked[2]?.messages)[3] ?? '', 'Summarise this conversation');
    assert.equal(world.asked[2]?.tools, []);
    assert.equal(promptTexts(world.asked[3]?.messages), [`What happened before, in short:\n${SUMMARY}`, 'second']);
    assert.is((await eventsOf(world, 'session.compacted')).length, 1);
    const summary = answersIn(await messagesOf(world, id)).find(({ info }) => info.summary === true);
    assert.is(summary === undefined ? '' : textOf(summary), SUMMARY);
    assert.ok((await messagesOf(world, id)).some(({ parts }) => parts.some(({ type }) => type === 'compaction')));
  });

  check('is summed up by the model and in the words that are set for it, at its own price', async () => {
    const resolvedModel = createResolvedModel({ modelID: 'sums', upstreamID: 'sums-1' });
    const world = await createAgentWorld({
      summariser: {
        prompt: 'Sum up.',
        model: { ...resolvedModel, splitsThinking: true, prices: { ...PRICES, input: 7 } },
      },
      scripts: [replying('one'), TOO_LONG, replying(`<think>hm</think>${SUMMARY}`), replying('two')],
    });
    const id = await world.session();
    await ask(world, id, 'first');
    await ask(world, id, 'second');
    assert.equal(
      world.asked.map(({ target, system }) => [target.upstreamID, system.slice(0, 7)]),
      [
        ['main', 'You bui'],
        ['main', 'You bui'],
        ['sums-1', 'Sum up.'],
        ['main', 'You bui'],
      ],
    );
    assert.match(promptTexts(world.asked[2]?.messages).at(-1) ?? '', 'Summarise this conversation');
    assert.equal(promptTexts(world.asked[3]?.messages), [`What happened before, in short:\n${SUMMARY}`, 'second']);
    const summary = answersIn(await messagesOf(world, id)).find(({ info }) => info.summary === true);
    assert.equal([summary?.info.modelID, summary?.info.agent], ['sums', 'build']);
    assert.is(summary?.info.cost, (10 * 7 + 5 * PRICES.output) / 1_000_000);
  });

  check('stays summed up for the prompts that follow', async () => {
    const scripts = [replying('one'), TOO_LONG, replying(SUMMARY), replying('two'), replying('three')];
    const world = await createAgentWorld({ scripts });
    const id = await world.session();
    for (const text of ['first', 'second', 'third']) await ask(world, id, text);
    assert.equal(promptTexts(world.asked.at(-1)?.messages), [
      `What happened before, in short:\n${SUMMARY}`,
      '<two>',
      'third',
    ]);
  });

  check('loses no prompt that was waiting when it was summed up', async () => {
    const scripts = [
      replying('one'),
      TOO_LONG,
      replying(SUMMARY),
      replying('two'),
      replying('three'),
      replying('four'),
    ];
    const world = await createAgentWorld({ scripts });
    const id = await world.session();
    await ask(world, id, 'first');
    await Promise.all(['second', 'third', 'fourth'].map((text) => ask(world, id, text)));
    assert.equal(promptTexts(world.asked.at(-1)?.messages), [
      `What happened before, in short:\n${SUMMARY}`,
      '<two>',
      'third',
      '<three>',
      'fourth',
    ]);
  });

  check('that is still too long fails in the words of the wire', async () => {
    const world = await createAgentWorld({ scripts: [TOO_LONG, replying(SUMMARY), TOO_LONG] });
    const { info } = await ask(world, await world.session());
    assert.equal(info.error, { name: 'ContextOverflowError', data: { message: 'The context is full' } });
    assert.is(world.asked.length, 3);
  });

  check('because of long texts is summed up from their beginnings', async () => {
    const long = 'x'.repeat(40_000);
    const fits = (limitChars: number, script: Script): Script =>
      async function* (request, signal) {
        if (JSON.stringify(request.messages).length > limitChars) throw new ModelError('overflow', 'Too long');
        yield* script(request, signal);
      };
    const world = await createAgentWorld({
      tools: [toolNamed('read', async () => outcome(long))],
      scripts: [
        calling({ name: 'read', input: { long } }),
        fits(5000, replying('never')),
        fits(5000, replying('never')),
        fits(5000, replying(SUMMARY)),
        replying('done'),
      ],
    });
    const answer = await ask(world, await world.session(), 'read it');
    assert.is(textOf(answer), 'done');
    assert.is(world.asked.length, 5);
    assert.ok(await isQuiet(world));
  });

  check('costs what its messages cost, also when the summary was empty', async () => {
    const world = await createAgentWorld({ scripts: [replying('one'), TOO_LONG, replying(' ')] });
    const id = await world.session();
    await ask(world, id, 'first');
    await ask(world, id, 'second');
    const costs = answersIn(await messagesOf(world, id)).map(({ info }) => info.cost);
    const { cost } = (await world.get(`/session/${id}`)) as Session;
    assert.is(costs.filter((one) => one > 0).length, 2);
    assert.ok(Math.abs(cost - costs.reduce((sum, one) => sum + one, 0)) < 1e-12);
  });

  check('is left as it was when there is no summary, or an empty one', async () => {
    for (const bad of [failing(new ModelError('auth', 'Refused')), replying(' '), TOO_LONG]) {
      const world = await createAgentWorld({ scripts: [replying('one'), TOO_LONG, bad, replying('three')] });
      const id = await world.session();
      await ask(world, id, 'first');
      const failed = await ask(world, id, 'second');
      if (bad === TOO_LONG) continue;
      assert.ok(failed.info.error !== undefined);
      await ask(world, id, 'third');
      assert.equal(promptTexts(world.asked.at(-1)?.messages), ['first', '<one>', 'second', 'third']);
      assert.is((await eventsOf(world, 'session.compacted')).length, 0);
    }
  });
});
