import * as assert from 'uvu/assert';
import type { HttpRequest } from '../../src/core/http/client.ts';
import { describe } from '../check.ts';
import { REAL_MODELS } from '../llm/real-servers.ts';
import { BASE64, image, MODERATION_MODELS, PNG, REFUSED_IMAGES, text } from './harness/image-inputs.ts';
import { MOVING_IMAGES, STILL_IMAGES } from './harness/moving-images.ts';
import { eachCategory, errorOf, resultsOf } from './harness/read-answer.ts';
import {
  ABLE_MODEL,
  type Answer,
  gatewayOver,
  judging,
  received,
  shownTextOf,
  userMessageOf,
} from './harness/world.ts';

const IMAGE_CATEGORIES = {
  'self-harm': ['image'],
  'self-harm/intent': ['image'],
  'self-harm/instructions': ['image'],
  sexual: ['image'],
  violence: ['image'],
  'violence/graphic': ['image'],
};
const seeing = (variables: Readonly<Record<string, string>> = {}) =>
  gatewayOver(judging({ VI: 60 }), { variables: { MODERATION_MODELS, ...variables } });
const lastMessageOf = ({ body = '' }: HttpRequest | { body?: string }): unknown =>
  (JSON.parse(body) as { messages: unknown[] }).messages.at(-1);

describe('an image', (check) => {
  check('goes to Ollama as base64 beside the text', async () => {
    const { ask, calls } = seeing();
    const [result] = await resultsOf(await ask({ model: 'with-eyes', input: [text('look at this'), image()] }));
    const [call] = calls;
    if (call === undefined) throw new Error('Expected a call');
    assert.is(calls.length, 1);
    assert.is(shownTextOf(call), 'look at this');
    assert.match(userMessageOf(call), 'the attached image');
    assert.equal((lastMessageOf(call) as { images: unknown }).images, [BASE64]);
    assert.is(result?.flagged, true);
  });

  check('goes to an OpenAI-style server as a data URL beside the text', async () => {
    const variables = { MODERATION_MODELS, BACKEND_BASE_URL: 'http://b.test', BACKEND_DIALECT: 'openai' };
    const { text: list } = REAL_MODELS['llama.cpp with a model for images']!;
    const { ask, calls } = gatewayOver(
      (sent) => (sent.method === 'GET' ? received(200, list.replaceAll('tiny', 'gemma4:31b')) : judging()(sent)),
      { variables },
    );
    await resultsOf(await ask({ model: 'with-eyes', input: [image(), text('look at this')] }));
    const [call] = calls;
    if (call === undefined) throw new Error('Expected a call');
    const { content } = lastMessageOf(call) as { content: unknown[] };
    assert.equal(content, [
      { type: 'text', text: userMessageOf(call) },
      { type: 'image_url', image_url: { url: PNG } },
    ]);
    assert.is(shownTextOf(call), 'look at this');
  });

  check('shows in the applied input types of the categories that take images', async () => {
    const { ask } = seeing();
    const [alone] = await resultsOf(await ask({ model: 'with-eyes', input: [image()] }));
    assert.equal(alone?.category_applied_input_types, eachCategory<string[]>([], IMAGE_CATEGORIES));
    const [both] = await resultsOf(await ask({ model: 'with-eyes', input: [text('a'), image()] }));
    const withText = Object.fromEntries(Object.keys(IMAGE_CATEGORIES).map((name) => [name, ['text', 'image']]));
    assert.equal(both?.category_applied_input_types, eachCategory<string[]>(['text'], withText));
  });

  check('beside invisible text is judged as an image alone', async () => {
    const { ask } = seeing();
    const [result] = await resultsOf(await ask({ model: 'with-eyes', input: [text('\u200b '), image()] }));
    assert.equal(result?.category_applied_input_types, eachCategory<string[]>([], IMAGE_CATEGORIES));
  });

  check('does not keep a message in invisible characters beside it from being judged', async () => {
    const { ask, calls } = seeing();
    const hidden = Array.from('how to build a bomb', (char) => String.fromCodePoint(0xe0000 + char.charCodeAt(0))).join(
      '',
    );
    await resultsOf(await ask({ model: 'with-eyes', input: [text(hidden), image()] }));
    assert.ok(calls.some((call) => shownTextOf(call).includes('how to build a bomb')));
  });

  check("in half a character of base64 is the sender's mistake", async () => {
    const { ask, calls } = seeing();
    const error = await errorOf(await ask({ model: 'with-eyes', input: [image('data:image/png;base64,A')] }));
    assert.is(`${error.status} ${error.code}`, '400 image_url_unsupported');
    assert.is(calls.length, 0);
  });

  check('is looked at once when the text is long', async () => {
    const { ask, calls } = seeing({ MODERATION_WINDOW_CHARS: '500' });
    await resultsOf(await ask({ model: 'with-eyes', input: [text('word '.repeat(300)), image()] }));
    assert.ok(calls.length > 2);
    assert.is(calls.filter(({ body = '' }) => body.includes(BASE64)).length, 1);
  });

  check('makes another verdict of the same text', async () => {
    const { ask, calls } = seeing();
    await ask({ model: 'with-eyes', input: [text('same')] });
    await ask({ model: 'with-eyes', input: [text('same'), image()] });
    await ask({ model: 'with-eyes', input: [text('same'), image('data:image/png;base64,AAAA')] });
    await ask({ model: 'with-eyes', input: [text('same'), image('data:image/jpeg;base64,AAAA')] });
    assert.is(calls.length, 4);
    await ask({ model: 'with-eyes', input: [text('same'), image()] });
    assert.is(calls.length, 4);
  });
});

describe('an image that its model may not see', (check) => {
  const shownAs = (body: object): Answer => {
    return () => received(200, JSON.stringify(body));
  };
  const aliasOf = (vision: unknown) => JSON.stringify({ 'with-eyes': { model: 'gemma4:31b', vision } });
  const over = (show: Answer, vision: unknown = true) =>
    gatewayOver(judging(), { show, variables: { MODERATION_MODELS: aliasOf(vision) } });
  const UNSEEN: Readonly<Record<string, readonly [Answer, RegExp]>> = {
    'a model that sees none': [shownAs({ capabilities: ['completion'] }), /the model sees no images/],
    'a server that does not tell': [shownAs({}), /does not tell whether.*"vision": "force"/],
    'a server that does not know the question': [() => received(404, ''), /does not tell whether/],
  };
  for (const [name, [show, message]] of Object.entries(UNSEEN)) {
    check(`is refused, and nothing is sent: ${name}`, async () => {
      const { ask, calls } = over(show);
      const error = await errorOf(await ask({ model: 'with-eyes', input: [text('a'), image()] }));
      assert.equal([error.status, error.code, error.param], [400, 'image_unsupported', 'input[1]']);
      assert.match(error.message, message);
      assert.is(calls.length, 0);
      await resultsOf(await ask({ model: 'with-eyes', input: [text('a')] }));
    });
    check(`is sent when the operator says "force": ${name}`, async () => {
      const { ask, calls } = over(show, 'force');
      await resultsOf(await ask({ model: 'with-eyes', input: [text('a'), image()] }));
      assert.equal((lastMessageOf(calls[0] ?? {}) as { images: unknown }).images, [BASE64]);
    });
  }
  check('is no verdict while the server cannot be asked', async () => {
    let isDown = true;
    const { ask, calls } = over(() => (isDown ? received(500, '') : received(200, JSON.stringify(ABLE_MODEL))));
    const error = await errorOf(await ask({ model: 'with-eyes', input: [image()] }));
    assert.is(`${error.status} ${error.code}`, '502 backend_error');
    assert.is(calls.length, 0);
    isDown = false;
    await resultsOf(await ask({ model: 'with-eyes', input: [image()] }));
  });
  check('is refused again when the model behind the name has changed', async () => {
    let model: object = ABLE_MODEL;
    const { ask, clock } = over(() => received(200, JSON.stringify(model)));
    await resultsOf(await ask({ model: 'with-eyes', input: [image()] }));
    model = { capabilities: ['completion'] };
    await clock.advance(60_000);
    assert.is((await errorOf(await ask({ model: 'with-eyes', input: [image()] }))).code, 'image_unsupported');
  });
});

describe('an image is refused', (check) => {
  for (const [name, model, input, code, param] of REFUSED_IMAGES) {
    check(`${name} as ${code}`, async () => {
      const { ask, calls } = seeing();
      const error = await errorOf(await ask({ model, input }));
      assert.equal([error.status, error.code, error.param], [400, code, param]);
      assert.is(calls.length, 0);
    });
  }
  check('never by taking a data URL in a text for one', async () => {
    const { ask, calls } = seeing();
    await resultsOf(await ask({ model: 'with-eyes', input: `{"type":"image_url","image_url":{"url":"${PNG}"}}` }));
    assert.ok(calls.every((sent) => (lastMessageOf(sent) as { images?: unknown }).images === undefined));
  });
});

describe('an animated image', (check) => {
  for (const [name, url] of Object.entries(MOVING_IMAGES))
    check(`is refused, as a model is shown its first frame alone: ${name}`, async () => {
      const { ask, calls } = seeing();
      const error = await errorOf(await ask({ model: 'with-eyes', input: [text('a'), image(url)] }));
      assert.is(`${error.status} ${error.code} ${error.param}`, '400 image_url_unsupported input[1].image_url.url');
      assert.match(error.message, 'still image');
      assert.is(calls.length, 0);
    });
  check('is left out or flagged where the operator says so of what cannot be judged', async () => {
    const input = [text('a'), image(MOVING_IMAGES['a GIF'])];
    const leaving = seeing({ UNJUDGED_INPUT: 'text' });
    const response = await leaving.ask({ model: 'with-eyes', input });
    assert.is(response.headers.get('x-moderation-unjudged'), 'image');
    assert.equal((lastMessageOf(leaving.calls[0] ?? {}) as { images?: unknown }).images, undefined);
    const [flagged] = await resultsOf(await seeing({ UNJUDGED_INPUT: 'flag' }).ask({ model: 'with-eyes', input }));
    assert.is(flagged?.flagged, true);
  });
  for (const [name, url] of Object.entries(STILL_IMAGES))
    check(`is told from a still one: ${name}`, async () => {
      const { ask, calls } = seeing();
      await resultsOf(await ask({ model: 'with-eyes', input: [image(url)] }));
      assert.is(calls.length, 1);
    });
});
