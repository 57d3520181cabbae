import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { FAULTS } from '../../gateway/harness/faulty-answers.ts';
import { image, text } from '../../gateway/harness/image-inputs.ts';
import { UNUSABLE_CONTENTS } from '../../gateway/harness/unusable-answers.ts';
import { type Answer, judging, nonceOf, received, replying } from '../../gateway/harness/world.ts';
import { CAROL, relayBefore, relayOver } from './moderated.ts';

const BLOCKED = 'content_policy_violation';
const FLAG = { NO_VERDICT: 'flag', UNJUDGED_INPUT: 'flag' };
const LARGE_IMAGE = image(`data:image/png;base64,${'AAAA'.repeat(400_000)}`);

/** What users and backends can bring about, and what a platform makes of each with the gateway's defaults. */
const WAYS_PAST: Readonly<Record<string, { readonly content?: unknown; readonly answer?: Answer }>> = {
  'an image beside the text': { content: [text('harmful'), image()] },
  'an image alone': { content: [image()] },
  'an image by its address': { content: [text('harmful'), image('https://images.example/a.png')] },
  'an image as SVG': { content: [text('harmful'), image('data:image/svg+xml;base64,AAAA')] },
  'an image of 1.6 MB': { content: [text('harmful'), LARGE_IMAGE] },
  'invisible characters alone': { content: '\u{e0062}\u{e006f}\u{e006d}\u{e0062}' },
  'a judge that is led astray': {
    answer: (sent) => replying(sent, UNUSABLE_CONTENTS['a refusal']?.(nonceOf(sent)) ?? ''),
  },
  ...Object.fromEntries(Object.entries(FAULTS).map(([name, { answer }]) => [`a backend with ${name}`, { answer }])),
};

describe('a way past moderation with the defaults of the gateway', (check) => {
  for (const [name, { content = 'harmful', answer = judging({ VI: 90 }) }] of Object.entries(WAYS_PAST)) {
    check(`is ${name}, and is none with NO_VERDICT=flag`, async () => {
      assert.is(await relayBefore(answer).say(content), 'passed');
      const closed = relayBefore(answer, FLAG);
      assert.is(await closed.say(content), BLOCKED);
      assert.equal(await closed.frozenMs(), [0], 'and nothing is frozen');
      closed.settings.thresholds = { violence: 1 };
      assert.is(await closed.say(content), BLOCKED, 'whatever its thresholds are');
    });
  }
  check('is a large image, which freezes no key with any setting', async () => {
    const modes = [{}, { UNJUDGED_INPUT: 'text' }, { UNJUDGED_INPUT: 'flag' }, FLAG];
    for (const variables of modes) {
      const relay = relayBefore(judging({ VI: 90 }), variables);
      await relay.say([text('harmful'), LARGE_IMAGE]);
      assert.equal(await relay.frozenMs(), [0]);
      assert.is(await relay.say('harmful', CAROL), BLOCKED, 'the others stay moderated');
    }
  });
  check('is a judge that hangs, and is none at the deadline of the gateway', async () => {
    for (const [variables, outcome] of [
      [{}, 'passed'],
      [FLAG, BLOCKED],
    ] as const) {
      const relay = relayBefore(() => new Promise(() => {}), variables);
      const said = relay.say('harmful');
      await relay.clock.advance(25_000);
      assert.is(await said, outcome);
    }
  });
  check('is an error that freezes the key: then the next user passes without being asked about', async () => {
    let isDown = true;
    const answer: Answer = (sent) => (isDown ? received(500, '') : judging({ VI: 90 })(sent));
    for (const [variables, outcome] of [
      [{}, 'passed'],
      [FLAG, BLOCKED],
    ] as const) {
      isDown = true;
      const relay = relayBefore(answer, variables);
      await relay.say('harmful');
      isDown = false;
      assert.is(await relay.say('harmful', CAROL), outcome);
    }
  });
});

describe('UNJUDGED_INPUT at a relay', (check) => {
  const beside = [text('some text'), image()];
  check('as text: judges the text beside an image, and an image alone passes', async () => {
    const variables = { UNJUDGED_INPUT: 'text' };
    assert.is(await relayBefore(judging({ VI: 90 }), variables).say(beside), BLOCKED);
    assert.is(await relayBefore(judging(), variables).say(beside), 'passed');
    assert.is(await relayBefore(judging(), variables).say([image()]), 'passed');
    assert.is(await relayBefore(judging(), { ...variables, NO_VERDICT: 'flag' }).say([image()]), BLOCKED);
  });
  check('as flag: blocks every image that cannot be judged, and an outage passes', async () => {
    const variables = { UNJUDGED_INPUT: 'flag' };
    for (const content of [beside, [image()], [text('a'), image('https://images.example/a.png')]])
      assert.is(await relayBefore(judging(), variables).say(content), BLOCKED);
    assert.is(await relayBefore(() => received(500, ''), variables).say('some text'), 'passed');
  });
});

describe('what still passes with NO_VERDICT=flag', (check) => {
  const harmful = judging({ VI: 90 });
  check('is everything while the gateway cannot be reached', async () => {
    const { say, clock } = relayOver(() => Promise.reject(new TypeError('fetch failed')));
    const said = say('harmful');
    await clock.advance(300);
    assert.is(await said, 'passed');
  });
  check('is everything with a wrong key, which is frozen for ten minutes', async () => {
    const relay = relayBefore(harmful, { ...FLAG, MODERATION_API_KEYS: 'another-key' });
    assert.equal([await relay.say('harmful'), await relay.frozenMs()], ['passed', [600_000]]);
  });
  check('is everything with an unknown model', async () => {
    const relay = relayBefore(harmful, FLAG);
    relay.settings.model = 'no-such-model';
    assert.equal([await relay.say('harmful'), await relay.frozenMs()], ['passed', [10_000]]);
  });
  check('is everything that the platform does not wait for', async () => {
    const relay = relayBefore(() => new Promise(() => {}), FLAG);
    relay.settings.timeout_ms = 3000;
    const said = relay.say('harmful');
    await relay.clock.advance(9300);
    assert.is(await said, 'passed');
  });
  check('is an earlier message, and what is behind the 12,000th character', async () => {
    const byText: Answer = (sent) => judging(sent.body?.includes('zyzzyva') ? { VI: 90 } : {})(sent);
    const relay = relayBefore(byText, FLAG);
    assert.is(await relay.say('zyzzyva'), BLOCKED);
    assert.is(await relay.say(`${'word '.repeat(2400)}zyzzyva`), 'passed');
    const earlier = [
      { role: 'user', content: 'zyzzyva' },
      { role: 'user', content: 'go on' },
    ];
    assert.is(await relay.chat(earlier), 'passed');
  });
});

describe('an outage with NO_VERDICT=flag', (check) => {
  check('disables every user who tries ten times, unless auto-ban is off', async () => {
    const relay = relayBefore(() => received(400, ''), FLAG);
    for (let tried = 0; tried < 10; tried++) assert.is(await relay.say('good morning'), BLOCKED);
    assert.is(await relay.say('good morning'), 'USER_INACTIVE');
    relay.settings.auto_ban_enabled = false;
    for (let tried = 0; tried < 11; tried++) assert.is(await relay.say('good morning', CAROL), BLOCKED);
  });
});
