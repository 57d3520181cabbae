import * as assert from 'uvu/assert';
import { auditFindings } from '../../../src/relay-admin/check/findings.ts';
import { describe } from '../../check.ts';
import { ALICE } from '../../demo/relay/moderated.ts';
import { freshRelay } from './world.ts';

const NO_FIRST = 'content moderation did not stop a harmful chat with 403 content_policy_violation. It got';
const NO_SECOND = 'prompt audit did not stop a harmful chat with 403 prompt_guard_blocked. It got';

describe('the check of a relay', (check) => {
  check('finds on a fresh platform all that is off, and that a harmful chat reaches the model', async () => {
    const found = await freshRelay().check();
    assert.equal(found, [
      'content moderation and prompt audit are off. Risk control, risk_control_enabled: switch it on in the system settings of the web interface (a PUT changes other settings).',
      'content moderation is off. Risk control, enabled: set it to true.',
      "content moderation asks OpenAI and no gateway. Risk control, base_url: set it to the gateway's address.",
      'content moderation has no key of the gateway. Risk control, api_keys: add one.',
      'content moderation passes what takes longer than its time. Risk control, timeout_ms: set it to 30000.',
      'content moderation passes scores over 0.5 (harassment, harassment/threatening, hate, hate/threatening, illicit, illicit/violent, self-harm, self-harm/intent, self-harm/instructions, sexual, sexual/minors, violence, violence/graphic). Risk control, thresholds: lower them.',
      'prompt audit is off. Prompt audit, enabled, blocking_enabled: set both to true, and switch on risk_control_enabled.',
      `${NO_FIRST} status 200 and reached the model.`,
      `${NO_SECOND} status 200 and reached the model.`,
    ]);
  });
  check('finds nothing once docs/relays.md is done to the letter', async () => {
    const relay = freshRelay();
    await relay.setUp();
    assert.equal(await relay.check(), []);
    assert.is(await relay.say('Good morning'), 'passed');
  });
  check('changes nothing: it sends two chats and reads', async () => {
    const relay = freshRelay();
    await relay.setUp();
    const before = JSON.stringify([relay.world.settings, relay.moderation, relay.audit]);
    await relay.check();
    assert.is(JSON.stringify([relay.world.settings, relay.moderation, relay.audit]), before);
  });

  type Relay = ReturnType<typeof freshRelay>;
  /** What is broken by itself, which line says so, and which engines then pass the chat. */
  const BROKEN: readonly (readonly [name: string, breaks: (relay: Relay) => void, line: RegExp, passing: string])[] = [
    [
      'the master switch',
      ({ world }) => (world.settings.isRiskControlOn = false),
      /are off.*risk_control_enabled/,
      'both',
    ],
    ['enabled', ({ moderation }) => (moderation.enabled = false), /^content moderation is off.*enabled/, 'first'],
    ['mode observe', ({ moderation }) => (moderation.mode = 'observe'), /blocks nothing.*mode/, 'first'],
    ['mode off', ({ moderation }) => (moderation.mode = 'off'), /blocks nothing.*mode/, 'first'],
    [
      'words only',
      ({ moderation }) => (moderation.keyword_blocking_mode = 'keyword_only'),
      /keyword_blocking_mode/,
      'first',
    ],
    [
      'a path twice',
      ({ moderation }) => (moderation.base_url = 'http://gateway.test/v1'),
      /leave out the \/v1/,
      'first',
    ],
    ['a timeout', ({ moderation }) => (moderation.timeout_ms = 3000), /timeout_ms: set it to 30000/, ''],
    ['the sample', ({ moderation }) => (moderation.sample_rate = 0), /sample_rate/, 'first'],
    ['groups', ({ moderation }) => (moderation.all_groups = false), /^content moderation leaves out groups/, 'first'],
    [
      'models',
      ({ moderation }) => (moderation.model_filter = { type: 'include', models: ['a'] }),
      /model_filter/,
      'first',
    ],
    [
      'users',
      ({ moderation }) => (moderation.exempt_user_ids = [ALICE]),
      /^content moderation leaves out users/,
      'first',
    ],
    ['another model', ({ moderation }) => (moderation.model = 'qwen3guard'), /model: set it to omni/, ''],
    [
      'one threshold',
      ({ moderation }) => (moderation.thresholds = { ...moderation.thresholds, violence: 0.95 }),
      /passes scores over 0\.5 \(violence\)/,
      'first',
    ],
    ['no key', ({ world }) => (world.moderation.keys.length = 0), /no key of the gateway/, 'first'],
    [
      'a frozen key',
      ({ world, clock }) => {
        for (const key of world.moderation.keys) key.frozenUntilMs = clock.now() + 600_000;
      },
      /has 1 of 1 keys frozen: everything passes now.*api-keys\/test with \{\}/,
      'first',
    ],
    ['the audit', ({ audit }) => (audit.enabled = false), /^prompt audit is off/, 'second'],
    ['blocking', ({ audit }) => (audit.blocking_enabled = false), /^prompt audit only notes what it finds/, 'second'],
    ['groups of the audit', ({ audit }) => (audit.all_groups = false), /^prompt audit leaves out groups/, 'second'],
    [
      'users of the audit',
      ({ audit }) => (audit.exempt_user_ids = [ALICE]),
      /^prompt audit leaves out users/,
      'second',
    ],
    ['scanners', ({ audit }) => (audit.scanners = ['jailbreak']), /scanners: switch all on/, 'second'],
  ];
  for (const [name, breaks, line, passing] of BROKEN)
    check(`finds ${name} broken by itself, and what then passes`, async () => {
      const relay = freshRelay();
      await relay.setUp();
      breaks(relay);
      const found = await relay.check();
      const settings = found.filter((one) => !one.includes('did not stop'));
      assert.ok(
        settings.some((one) => line.test(one)),
        found.join('\n'),
      );
      // The switch of both is named at both.
      assert.is(settings.length, passing === 'both' ? 2 : 1, found.join('\n'));
      assert.equal(
        [NO_FIRST, NO_SECOND].map((start) => found.some((one) => one.startsWith(start))),
        [['both', 'first'].includes(passing), ['both', 'second'].includes(passing)],
        found.join('\n'),
      );
    });

  check('names a second key that is frozen while the first is not', async () => {
    const relay = freshRelay();
    await relay.setUp();
    await relay.admin('risk-control/config', 'PUT', { api_keys: ['another'] });
    const [, second] = relay.world.moderation.keys;
    if (second !== undefined) second.frozenUntilMs = relay.clock.now() + 1000;
    assert.match(
      (await relay.check({ isSettingsOnly: true }))[0] ?? '',
      'has 1 of 2 keys frozen: errors of the others',
    );
  });
  check('allows the thresholds of a policy of its own', async () => {
    const relay = freshRelay();
    await relay.setUp();
    relay.moderation.thresholds = { ...relay.moderation.thresholds, harassment: 0.7 };
    assert.match((await relay.check())[0] ?? '', '(harassment)');
    assert.equal(await relay.check({ largestThreshold: 0.7 }), []);
  });
  check('says of a chat what became of it where no engine refused it', async () => {
    const relay = freshRelay();
    await relay.setUp();
    const found = await relay.check({ userKey: 'sk-nobody' });
    assert.equal(
      found.map((line) => line.slice(line.indexOf('It got'))),
      Array.from(
        { length: 2 },
        () => 'It got status 401 and was refused otherwise: look at CHECK_USER_KEY and CHECK_MODEL.',
      ),
    );
  });
  check('without a chat looks at the settings alone', async () => {
    const relay = freshRelay();
    await relay.setUp();
    assert.equal(await relay.check({ isSettingsOnly: true }), []);
    assert.is(relay.asked.length, 0);
  });
  check('says what the admin key may not read, and takes nothing unread for closed', async () => {
    const relay = freshRelay();
    await relay.setUp();
    relay.world.settings.forbidden = /prompt-audit|status/;
    assert.equal(
      (await relay.check({ isSettingsOnly: true })).map((line) => line.slice(0, 65)),
      [
        'nothing is known of risk-control/status, which could not be read.',
        'nothing is known of prompt-audit/config, which could not be read.',
      ],
    );
  });
  check('knows the switches of newer releases', () => {
    const closed = { effective_mode: 'blocking', all_groups: true, scanners: Array.from({ length: 9 }, () => 'a') };
    assert.equal(auditFindings({ ...closed, user_whitelist: [], user_filter: { type: 'all' } }), []);
    for (const open of [
      { user_whitelist: ['a@example.com'] },
      { exempt_admins: true },
      { user_filter: { type: 'exclude', user_ids: [1] } },
    ])
      assert.equal(
        auditFindings({ ...closed, ...open }).map((line) => line.slice(0, 29)),
        ['prompt audit leaves out users'],
      );
    assert.match(auditFindings({ ...closed, blocking_latest_turn_only: true })[0] ?? '', 'latest turn only');
    assert.is(auditFindings({}).length, 3);
  });
});
