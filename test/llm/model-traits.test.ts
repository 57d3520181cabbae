import * as assert from 'uvu/assert';
import { createDetectedDialect, createFixedDialect, type DialectChoice } from '../../src/llm/detect.ts';
import { createModelTraits } from '../../src/llm/model-traits.ts';
import { ollama } from '../../src/llm/ollama.ts';
import { openai } from '../../src/llm/openai.ts';
import { describe, rejection } from '../check.ts';
import { createFakeClock } from '../fake-clock.ts';
import { failing, keyOf } from './backend-world.ts';
import { REAL_MODELS } from './real-servers.ts';
import { type Answer, BASE_URL, createScriptedExchange, reset, type Script } from './scripted-client.ts';

const DIALECTS = { ollama, openai };
const SEEING: Answer = { text: '{"capabilities":["completion","vision"]}' };
const BLIND: Answer = { text: '{"capabilities":["completion"]}' };

const world = (script: Script, dialect: DialectChoice = createFixedDialect(ollama)) => {
  const clock = createFakeClock();
  const { httpClient, calls } = createScriptedExchange(script);
  const find = createModelTraits({ baseUrl: BASE_URL, dialect, httpClient, clock, usableKey: () => keyOf('a') });
  return { clock, calls, find };
};

describe('the traits of a model', (check) => {
  for (const [name, { dialect, text, traits }] of Object.entries(REAL_MODELS)) {
    check(`are read as far as the server tells them: ${name}`, async () => {
      assert.equal(await world([{ text }], createFixedDialect(DIALECTS[dialect])).find('tiny'), traits);
    });
  }
  check('are asked for by name, with a key', async () => {
    const { find, calls } = world([SEEING]);
    await find('tiny');
    const [call] = calls;
    assert.equal(
      [call?.path, call?.sent.method, call?.sent.body, call?.key],
      ['/api/show', 'POST', '{"model":"tiny"}', 'secret-a'],
    );
  });
  check('are those of this model and of no other in a list', async () => {
    const { text } = REAL_MODELS['llama.cpp with a model for images']!;
    assert.equal(await world([{ text }], createFixedDialect(openai)).find('other'), {});
  });
  check('are asked for once a minute, whoever asks', async () => {
    const { find, calls, clock } = world((_sent, index) => (index === 0 ? SEEING : BLIND));
    assert.equal(
      (await Promise.all([find('a'), find('a')])).map((traits) => traits?.vision),
      [true, true],
    );
    await clock.advance(59_999);
    assert.is((await find('a'))?.vision, true);
    assert.is(calls.length, 1);
    await clock.advance(1);
    assert.is((await find('a'))?.vision, false);
    assert.is(calls.length, 2);
  });
  check('are empty where the server does not know how to tell them', async () => {
    for (const step of [failing(404), failing(405), failing(400), failing(501), { text: '' }, { text: '[]' }]) {
      assert.equal(await world([step]).find('tiny'), {}, JSON.stringify(step));
    }
  });
  check('are not known, and asked for again, after a failure', async () => {
    for (const step of [failing(500), failing(401), failing(503), reset()]) {
      const { find } = world([step, SEEING]);
      assert.is(await find('tiny'), undefined);
      assert.is((await find('tiny'))?.vision, true);
    }
    const nobody = createDetectedDialect(async () => undefined);
    assert.is(await world([], nobody).find('tiny'), undefined);
  });
  check('are not waited for longer than 3 s', async () => {
    const { find, clock } = world(['silence', SEEING]);
    const found = find('tiny');
    await clock.advance(3000);
    assert.is(await found, undefined);
    assert.is(clock.pending(), 0);
  });
  check('hide no bug', async () => {
    const bug = new TypeError('a bug');
    assert.is(await rejection(world([bug]).find('tiny')), bug);
  });
});
