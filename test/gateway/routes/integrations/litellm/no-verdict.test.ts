import * as assert from 'uvu/assert';
import { describe } from '../../../../check.ts';
import { FAULTS } from '../../../harness/faulty-answers.ts';
import { askIntegration, litellmOutcome } from '../../../harness/integrations.ts';
import { errorOf } from '../../../harness/read-answer.ts';
import { UNUSABLE_CONTENTS } from '../../../harness/unusable-answers.ts';
import {
  type Answer,
  gatewayOver,
  judging,
  nonceOf,
  replying,
  shownTextOf,
  verdictJson,
} from '../../../harness/world.ts';
import { bodyOf, IMAGE, outcomeOf, PATH } from './world.ts';

const UNREADABLE: Readonly<Record<string, unknown>> = {
  'no object': [],
  'texts that are none': bodyOf({ texts: [7] }),
  'nothing at all': bodyOf({ texts: null }),
  'empty texts': bodyOf({ texts: ['', ''] }),
  'a text that is too long': bodyOf({ texts: ['a'.repeat(100_001)] }),
  'sound in a message': bodyOf({
    structured_messages: [{ role: 'user', content: [{ type: 'input_audio', input_audio: { data: 'AAAA' } }] }],
  }),
  'a file in a message': bodyOf({
    structured_messages: [{ role: 'user', content: [{ type: 'file', file: { file_data: 'AAAA' } }] }],
  }),
  'an image that cannot be judged': bodyOf({ images: [IMAGE] }),
  'an image in a message that cannot be judged': bodyOf({
    structured_messages: [{ role: 'user', content: [{ type: 'image_url', image_url: IMAGE }] }],
  }),
  'a call that is none': bodyOf({ tool_calls: [{ id: 'x' }] }),
  'more images than MAX_INPUTS': bodyOf({ images: Array.from({ length: 40 }, (_, index) => `${IMAGE}${index}`) }),
};

describe("LiteLLM's generic guardrail has no verdict", (check) => {
  for (const [name, body] of Object.entries(UNREADABLE))
    check(`and closes, also with fail_open: ${name}`, async () => {
      const world = gatewayOver(judging());
      const answer = await askIntegration(world, PATH, body);
      assert.is(answer.status, 400);
      assert.is(await litellmOutcome(answer, 'fail_open'), 'failed');
      await errorOf(await askIntegration(world, PATH, body));
      assert.is(world.calls.length, 0);
    });

  check('on an image part that holds a text of its own, which nobody would read', async () => {
    const models = { 'omni-moderation-latest': { model: 'gemma4:31b', vision: true } };
    const partWith = (more: object) => ({
      type: 'image_url',
      image_url: { url: 'data:image/png;base64,AAAA' },
      ...more,
    });
    const askWith = (more: object) => {
      const world = gatewayOver(judging(), { variables: { MODERATION_MODELS: JSON.stringify(models) } });
      const message = { role: 'user', content: [{ type: 'text', text: 'look' }, partWith(more)] };
      return askIntegration(world, PATH, bodyOf({ structured_messages: [message] }));
    };
    assert.is(await litellmOutcome(await askWith({ text: 'a bomb' })), 'failed');
    for (const silent of [{}, { text: '' }, { cache_control: { type: 'ephemeral' } }])
      assert.is(await litellmOutcome(await askWith(silent)), 'passed');
  });

  for (const [name, { answer, against }] of Object.entries(FAULTS))
    for (const NO_VERDICT of ['error', 'flag'])
      check(
        `from a backend with ${name}, and closes unless its operator lets outages pass (${NO_VERDICT})`,
        async () => {
          const world = gatewayOver(answer, { variables: { NO_VERDICT } });
          const reply = await askIntegration(world, PATH, bodyOf());
          assert.ok(reply.status >= 400);
          assert.is(await litellmOutcome(reply.clone()), 'failed');
          // Another text may be answered: a user could bring this about.
          assert.is(await litellmOutcome(reply, 'fail_open'), against === 'request' ? 'failed' : 'passed');
        },
      );

  for (const [name, contentFor] of Object.entries(UNUSABLE_CONTENTS))
    check(`from a judge with ${name}, and closes, also with fail_open`, async () => {
      const answer: Answer = (sent) => replying(sent, contentFor(nonceOf(sent)) ?? null);
      const reply = await askIntegration(gatewayOver(answer), PATH, bodyOf());
      assert.is(await litellmOutcome(reply, 'fail_open'), 'failed');
    });

  check('from a judge that is led astray, and closes: that is no outage', async () => {
    const astray: Answer = (sent) => replying(sent, verdictJson('123456789012'));
    for (const settings of [{}, { variables: { NO_VERDICT: 'flag' } }]) {
      const answer = await askIntegration(gatewayOver(astray, settings), PATH, bodyOf());
      assert.is(answer.status, 500);
      assert.is(await litellmOutcome(answer, 'fail_open'), 'failed');
    }
  });

  check('where one text of several has none', async () => {
    const answer: Answer = (sent) =>
      shownTextOf(sent) === 'two' ? replying(sent, '{}') : replying(sent, verdictJson(nonceOf(sent)));
    assert.is(await outcomeOf(bodyOf({ texts: ['one', 'two', 'three'] }), answer), 'failed');
  });

  check('for an image, which is left out beside a text where the operator has chosen so', async () => {
    const variables = { UNJUDGED_INPUT: 'text' };
    const world = gatewayOver(judging(), { variables });
    const answer = await askIntegration(world, PATH, bodyOf({ images: [IMAGE] }));
    assert.is(answer.headers.get('x-moderation-unjudged'), 'image');
    assert.is(await litellmOutcome(answer), 'passed');
    assert.is(await outcomeOf(bodyOf({ texts: [], images: [IMAGE] }), judging(), { variables }), 'failed');
  });
});
