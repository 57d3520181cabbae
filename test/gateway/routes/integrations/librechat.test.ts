import * as assert from 'uvu/assert';
import { describe } from '../../../check.ts';
import { FAULTS } from '../../harness/faulty-answers.ts';
import { librechatOutcome } from '../../harness/integrations.ts';
import {
  type Answer,
  GATEWAY_KEY,
  gatewayOver,
  judging,
  shownTextOf,
  type WorldSettings,
} from '../../harness/world.ts';

const PLACE = { url: 'http://gateway.test/v1/moderations', key: GATEWAY_KEY };
const bombFinder: Answer = (sent) => judging(/bomb/.test(shownTextOf(sent)) ? { ILV: 90 } : {})(sent);
const outcomeOf = (
  text: string | undefined,
  answer: Answer = bombFinder,
  settings: WorldSettings = {},
  place = PLACE,
) => librechatOutcome(gatewayOver(answer, settings).app, text, place);

describe("LibreChat's moderation", (check) => {
  check('passes and denies by the default alias: it names no model', async () => {
    assert.is(await outcomeOf('hello'), 'passed');
    assert.is(await outcomeOf('a bomb'), 'denied');
  });

  for (const [name, { answer }] of Object.entries(FAULTS))
    check(`closes over a backend with ${name}`, async () => {
      assert.is(await outcomeOf('hello', answer), 'error in moderation check');
      assert.is(await outcomeOf('hello', answer, { variables: { NO_VERDICT: 'flag' } }), 'denied');
    });

  check('closes on a wrong key, an address without a path, and a request without a text', async () => {
    const wrong = [
      { ...PLACE, key: 'wrong' },
      { ...PLACE, url: 'http://gateway.test' },
      { ...PLACE, url: 'http://gateway.test/v1' },
    ];
    for (const place of wrong) assert.is(await outcomeOf('hello', bombFinder, {}, place), 'error in moderation check');
    for (const text of [undefined, '']) assert.is(await outcomeOf(text), 'error in moderation check');
  });

  check('closes where the gateway is down', async () => {
    const down = () => Promise.reject(new TypeError('ECONNREFUSED'));
    assert.is(await librechatOutcome(down, 'hello', PLACE), 'error in moderation check');
  });
});
