import * as assert from 'uvu/assert';
import { createProgramLog, formatLastStderr } from '../../../../src/agent/tools/mcp/server-output.ts';
import { createLog } from '../../../../src/core/log.ts';
import { describe } from '../../../check.ts';
import { createFakeClock } from '../../../fake-clock.ts';

describe('the last words of a program', (check) => {
  check('are one short line, without what Node adds to an error', () => {
    const written = `/srv/tools.js:3\nthrow new Error('no')\n      ^\n\nError: no such\tthing\u202e\n    at run (/srv/tools.js:3:7)\n\nNode.js v18.20.4\n`;
    assert.is(formatLastStderr(written, []), "/srv/tools.js:3 throw new Error('no') Error: no such thing");
    assert.is(
      formatLastStderr(`${'first '.repeat(30)}\nsecond\n${'third '.repeat(20)}`, []),
      `second ${'third '.repeat(20)}`.trim(),
    );
    assert.ok(formatLastStderr('x'.repeat(4000), []).length <= 200);
    assert.is(formatLastStderr(' \n\n  at x (y)\n', []), '');
  });

  check('hold none of the secrets that it was given, and none that look like one', () => {
    const secrets = ['hunter2', 'hunter2-and-more', '30'];
    assert.is(
      formatLastStderr('wrong: hunter2-and-more, hunter2; within 30 s', secrets),
      'wrong: [redacted], [redacted]; within 30 s',
    );
    assert.is(
      formatLastStderr('refused: api_key=abc Bearer 0123456789', []),
      'refused: api_key=[redacted] Bearer [redacted]',
    );
  });
});

describe('the log of a tool server that is a program', (check) => {
  const line = (more: Readonly<Record<string, unknown>>): string =>
    JSON.stringify({
      time: '2026-11-22T20:00:00.000Z',
      level: 'warn',
      service: 'relay-admin',
      event: 'recharge',
      ...more,
    });
  const createWorld = (secrets: readonly string[] = []) => {
    const clock = createFakeClock();
    const logged: Readonly<Record<string, unknown>>[] = [];
    const log = createLog({
      level: 'debug',
      service: 'agent',
      clock,
      write(written) {
        const { time, service, ...rest } = JSON.parse(written);
        logged.push(rest);
      },
    });
    return { clock, logged, take: createProgramLog({ log, clock, setting: 'mcp.relay-admin', secrets }) };
  };
  const PASSED = { event: 'mcp-server-log', setting: 'mcp.relay-admin' };

  check('is passed on with its level, its event and its fields', () => {
    const { logged, take } = createWorld();
    const recharge = { subject: 7, amount: '12.5', reference: 'rc_0123456789abcdef', outcome: 'accepted_unverified' };
    take(line({ ...recharge, tool: 'recharge' }));
    take(line({ level: 'error', event: 'journal-not-written', reference: 'rc_0123456789abcdef' }));
    take(line({ level: 'info', event: 'tool-called', tool: 'read', durationMs: 3, reason: 'UPSTREAM_AUTH' }));
    assert.equal(logged, [
      { level: 'warn', ...PASSED, reported: 'recharge', ...recharge, tool: 'recharge' },
      { level: 'error', ...PASSED, reported: 'journal-not-written', reference: 'rc_0123456789abcdef' },
      { level: 'info', ...PASSED, reported: 'tool-called', durationMs: 3, tool: 'read', reason: 'UPSTREAM_AUTH' },
    ]);
  });

  check('has no room for texts, secrets and fields of others', () => {
    const secrets = ['canary-of-the-environment', '12.5000'];
    const { logged, take } = createWorld(secrets);
    const given = {
      reason: 'please send canary money',
      tool: 'canary-of-the-environment',
      outcome: 'sk-canary0123456789abcdef',
      state: { canary: 1 },
      subject: 'canary',
      durationMs: 'canary',
      amount: '1 canary',
      reference: 'canary',
      setting: 'canary',
      text: 'canary',
      key: 'canary',
    };
    take(line(given));
    take(line({ amount: '12.5000' }));
    assert.equal(logged, [
      { level: 'warn', ...PASSED, reported: 'recharge' },
      { level: 'warn', ...PASSED, reported: 'recharge', amount: '12.5000' },
    ]);
  });

  check('is dropped where it is not one: other lines, other events, other levels', () => {
    const { logged, take } = createWorld();
    for (const dropped of [
      'canary',
      '{"time":"canary',
      '{"level":"error","event":"canary"}',
      '{"time":"","level":"error"}',
      line({ level: 'debug' }),
      line({ level: 'fatal' }),
      line({ event: 'A canary sang' }),
      line({ event: 7 }),
      `[${line({})}]`,
    ])
      take(dropped);
    assert.equal(logged, []);
  });

  check('is limited to so many lines a minute, each level by itself, and says so once', async () => {
    const { clock, logged, take } = createWorld();
    for (let count = 0; count < 1000; count += 1) take(line({ level: 'info', event: 'tool-called' }));
    take(line({}));
    const events = (): readonly unknown[] => logged.map(({ event, reported }) => reported ?? event);
    assert.equal(events(), [...Array(60).fill('tool-called'), 'mcp-server-log-cut', 'recharge']);
    await clock.advance(60_000);
    take(line({ level: 'info', event: 'tool-called' }));
    assert.is(events().length, 63);
  });
});
