import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import type { Message, RelayAdminProcess } from './process.ts';
import { CHANGING_CALLS, READING_CALLS, TOOLS } from './tool-calls.ts';
import { inWorld, keyNumber, previewed, rechargesSeen, until } from './world.ts';

const MB = 1024 * 1024;
const LONG = 1_000_000;
const INVALID_PARAMS = -32602;
const INTERNAL_ERROR = -32603;
const NO_SUCH_METHOD = -32601;

const failureOf = ({ error }: Message): readonly [number, string] => [error?.code ?? 0, error?.message ?? ''];
const toolCall = (name: string, given: object, more: object = {}) => ({ name, arguments: given, ...more });
const pause = (ms: number): Promise<void> => new Promise((settle) => setTimeout(settle, ms));

/** What comes back on standard output for what is written, up to the answer to a ping behind it. */
const answersTo = async (admin: RelayAdminProcess, text: string | Buffer): Promise<readonly string[]> => {
  const before = admin.lines().length;
  admin.write(text);
  await admin.ask('ping');
  return admin.lines().slice(before, -1);
};

/** What is no JSON, or no message. The SDK answers none of it. */
const NO_MESSAGES: readonly (string | Buffer)[] = [
  'GET / HTTP/1.1\n',
  '{"jsonrpc":"2.0","id":1,"method":"ping"\n',
  `${'['.repeat(100_000)}\n`,
  `${'{"a":'.repeat(20_000)}\n`,
  Buffer.from([0xff, 0xfe, 0x00, 0xd8, 0x0a]),
  'null\n',
  '7\n',
  '{"jsonrpc":"1.0","id":1,"method":"ping"}\n',
  '{"jsonrpc":"2.0","id":{},"method":"ping"}\n',
  '{"jsonrpc":"2.0","id":"x","method":7}\n',
  '[{"jsonrpc":"2.0","id":"batch","method":"ping"}]\n',
];

/** Messages without an answer, and blank lines. */
const UNANSWERED = [
  '\n',
  '\r\n',
  '{"jsonrpc":"2.0","id":"x","result":{}}\n',
  '{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":"x"}}\n',
  '{"jsonrpc":"2.0","id":{},"result":{}}\n',
  '{"jsonrpc":"2.0","method":"notifications/nonsense"}\n',
];

describe('the wire of the relay admin bundle', (check) => {
  check(
    'takes no harm from what is no JSON or no message, and answers none of it',
    inWorld(async ({ start, control }) => {
      const admin = start({ variables: { LOG_LEVEL: 'debug' } });
      for (const text of [...NO_MESSAGES, ...UNANSWERED])
        assert.equal(await answersTo(admin, text), [], String(text).slice(0, 80));
      const deep = `${'['.repeat(5000)}${']'.repeat(5000)}`;
      const call = `{"name":"read","arguments":{"path":"users","query":{"x":${deep}}}}`;
      await answersTo(admin, `{"jsonrpc":"2.0","id":"deep","method":"tools/call","params":${call}}\n`);
      assert.ok(admin.events().some(({ event }) => event === 'stray-input'));
      assert.not.match(admin.stderr() + admin.lines().join(), 'HTTP/1.1');
      assert.equal(control.requests(), []);
      assert.is((await admin.call('health')).isError, undefined);
    }),
  );

  check.thorough(
    'takes a message in pieces, several in one piece, and other line ends',
    inWorld(async ({ start }) => {
      const admin = start();
      for (const byte of '{"jsonrpc":"2.0","id":"a","method":"ping"}\r\n') {
        admin.write(byte);
        await pause(1);
      }
      assert.equal((await admin.answerTo('a')).result, {});
      admin.write('{"jsonrpc":"2.0","id":"b","method":"ping"}\n{"jsonrpc":"2.0","id":0,"method":"ping"}\n{"jsonrpc":');
      await Promise.all([admin.answerTo('b'), admin.answerTo(0)]);
      admin.write('"2.0","id":"c","method":"ping"}\n');
      await admin.answerTo('c');
    }),
  );

  check.thorough(
    'takes a line of 1 MB, whatever is in it, and soon answers the next',
    inWorld(async ({ start, control }) => {
      const admin = start();
      const startedAt = performance.now();
      assert.equal(await answersTo(admin, `${'x'.repeat(LONG)}\n`), []);
      const { isError, content } = await admin.call('read', { path: 'a'.repeat(LONG) });
      assert.is(isError, true);
      assert.match(content[0]?.text ?? '', /^INVALID_ARGUMENT: path: expected at most 200 characters/);
      const query = Object.fromEntries(Array.from({ length: 40_000 }, (_, at) => [`name-${at}`, at]));
      assert.is((await admin.call('read', { path: 'users', query })).isError, true);
      assert.ok(performance.now() - startedAt < 20_000);
      assert.equal(control.requests(), []);
    }),
  );

  check(
    'ends in good order when a line passes 1 MiB, with or without an end',
    inWorld(async ({ start }) => {
      for (const end of ['\n', '']) {
        const admin = start();
        await admin.initialize();
        const startedAt = performance.now();
        admin.write('x'.repeat(2 * MB) + end);
        assert.equal(await admin.ended, { code: 0, signal: null });
        assert.ok(performance.now() - startedAt < 4000);
        assert.match(admin.stderr(), '"event":"stopping","signal":"closed"');
      }
    }),
  );

  check.thorough(
    'agrees on each version that it knows, and offers its newest for any other',
    inWorld(async ({ start }) => {
      const known = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'];
      for (const version of known) assert.is((await start().initialize(version)).result?.protocolVersion, version);
      for (const version of ['2026-07-28', '1999-01-01', '', 'latest'])
        assert.is((await start().initialize(version)).result?.protocolVersion, '2025-11-25');
    }),
  );

  check(
    'has no more than it says: no resources, prompts, tasks or logging',
    inWorld(async ({ start }) => {
      const admin = start();
      const { result } = await admin.initialize();
      assert.equal(result?.capabilities, { tools: { listChanged: false } });
      const others = ['resources/list', 'prompts/list', 'tasks/list', 'logging/setLevel', 'completion/complete'];
      for (const method of [...others, 'server/discover', '__proto__', 'constructor'])
        assert.is(failureOf(await admin.ask(method))[0], NO_SUCH_METHOD, method);
      assert.equal((await admin.ask('ping')).result, {});
    }),
  );

  check.thorough(
    'guards a call before the handshake like any other',
    inWorld(async ({ start, control }) => {
      const admin = start({ variables: { RELAY_READ_ONLY: 'true' } });
      assert.is((await admin.call('describe')).structuredContent?.mode, 'read_only');
      assert.match(
        (await admin.call('update_user_limits', { user_id: 2, rpm_limit: 9 })).content[0]?.text ?? '',
        /^READ_ONLY: /,
      );
      const keyless = start({ variables: { RELAY_ADMIN_API_KEY: '' } });
      assert.match((await keyless.call('read', { path: 'users' })).content[0]?.text ?? '', /^NO_ADMIN_KEY: /);
      const bad = await admin.call('preview_recharge', { user_id: 2, amount: '1', confirm: true });
      assert.match(bad.content[0]?.text ?? '', /^INVALID_ARGUMENT: /);
      assert.equal(control.requests(), []);
    }),
  );

  check(
    'says of a tool that does not exist which ones do',
    inWorld(async ({ start }) => {
      const admin = start();
      for (const name of ['delete_user', '', 'toString', '__proto__', 'Describe', ' describe']) {
        const [code, message] = failureOf(await admin.ask('tools/call', toolCall(name, {})));
        assert.is(code, INVALID_PARAMS);
        assert.match(message, `Unknown tool; this server has ${TOOLS.join(', ')}`);
      }
    }),
  );

  check(
    'refuses a call that is malformed, and repeats nothing of it',
    inWorld(async ({ start, control }) => {
      const admin = start();
      const malformed = [
        undefined,
        {},
        { name: 7 },
        toolCall('read', ['canary-1']),
        { name: 'read', arguments: 'canary-1' },
      ];
      for (const params of malformed) {
        const [code, message] = failureOf(await admin.ask('tools/call', params));
        assert.ok([INVALID_PARAMS, INTERNAL_ERROR].includes(code), String(code));
        assert.not.match(message, 'canary-1');
      }
      assert.equal(control.requests(), []);
    }),
  );

  check.thorough(
    'refuses to run a tool as a task before anything is sent, and the preview is as good as before',
    inWorld(async ({ start, control }) => {
      const admin = start();
      const pair = { preview_token: await previewed(admin, 2, '1'), idempotency_key: keyNumber(1) };
      control.clearRequests();
      for (const [tool, given] of [...READING_CALLS, ...CHANGING_CALLS, ['recharge', pair] as const]) {
        for (const task of [{}, { ttl: 60_000 }]) {
          const { result, error } = await admin.ask('tools/call', toolCall(tool, given, { task }));
          assert.equal([result, typeof error?.code], [undefined, 'number'], tool);
        }
      }
      assert.equal(control.requests(), []);
      assert.is((await admin.call('recharge', pair)).structuredContent?.outcome, 'verified');
    }),
  );

  check.thorough(
    'hands on nothing that a client slips in beside the arguments',
    inWorld(async ({ start, control }) => {
      const admin = start();
      const _meta = { authorization: 'Bearer canary-1', progressToken: 'canary-1', 'x-api-key': 'canary-1' };
      await admin.ask('tools/call', toolCall('read', { path: 'users' }, { _meta }));
      await admin.ask('tools/call', toolCall('health', {}, { _meta }));
      assert.is(control.requests().length, 3);
      assert.not.match(JSON.stringify(control.requests()), 'canary-1');
    }),
  );
});

describe('cancelling a call of the relay admin bundle', (check) => {
  const cancel = (admin: RelayAdminProcess, requestId: string): void =>
    admin.send({ method: 'notifications/cancelled', params: { requestId, reason: 'canary-1' } });

  check(
    'lets go of the relay, and is not answered',
    inWorld(async ({ start, control }) => {
      control.useRouteFault('stuck', 5);
      const admin = start();
      admin.send({ id: 'slow', method: 'tools/call', params: toolCall('read', { path: 'users' }) });
      await until('the read is there', () => control.requests().length > 0);
      const startedAt = performance.now();
      cancel(admin, 'slow');
      await admin.outputMatching(/"event":"tool-called","tool":"read","durationMs":\d+,"reason":"CANCELLED"/);
      assert.ok(performance.now() - startedAt < 2000);
      await admin.ask('ping');
      assert.equal(
        admin.lines().filter((line) => line.includes('"slow"')),
        [],
      );
      assert.not.match(admin.stderr(), 'canary-1');
    }),
  );

  check(
    'before a recharge is sent keeps it from being sent',
    inWorld(async ({ start, control, journalText }) => {
      const admin = start();
      const pair = { preview_token: await previewed(admin, 2, '1'), idempotency_key: keyNumber(1) };
      control.useRouteFault('stuck', 5);
      control.clearRequests();
      admin.send({ id: 'slow', method: 'tools/call', params: toolCall('recharge', pair) });
      await until('the look at the user is there', () => control.requests().length > 0);
      cancel(admin, 'slow');
      await admin.outputMatching(/"tool":"recharge","durationMs":\d+,"reason":"CANCELLED"/);
      control.clearFaults();
      assert.equal(rechargesSeen(control), []);
      assert.not.match(journalText(), '"claim"');
      assert.is((await admin.call('recharge', pair)).structuredContent?.replayed, false);
      assert.is(rechargesSeen(control).length, 1);
    }),
  );

  check(
    'after a recharge was sent does not end it, and the same pair reports what came of it',
    inWorld(async ({ start, control }) => {
      const admin = start();
      const pair = { preview_token: await previewed(admin, 2, '1'), idempotency_key: keyNumber(1) };
      control.setDelayMs(300);
      control.useFault('late');
      admin.send({ id: 'slow', method: 'tools/call', params: toolCall('recharge', pair) });
      await until('the recharge is there', () => rechargesSeen(control).length > 0);
      cancel(admin, 'slow');
      const { structuredContent } = await admin.call('recharge', pair);
      assert.equal([structuredContent?.outcome, structuredContent?.replayed], ['verified', true]);
      assert.equal([rechargesSeen(control).length, control.credits().length], [1, 1]);
    }),
  );
});

/** A library that talks where only the protocol may, again and again. */
const CHATTER = `data:text/javascript,${encodeURIComponent(
  "setInterval(() => { console.log('chatter'); console.info('chatter'); process.stdout.write('chatter\\n'); }, 20);",
)}`;

describe('standard output of the relay admin bundle', (check) => {
  check(
    'carries answers and nothing else, whatever the tools do and whatever else writes there',
    inWorld(async ({ start, control }) => {
      const admin = start({ flags: ['--import', CHATTER], variables: { LOG_LEVEL: 'debug' } });
      await admin.initialize();
      await admin.outputMatching(/chatter/);
      const calls = [...READING_CALLS, ...CHANGING_CALLS];
      for (const fault of [undefined, 'html', 'drop', 'echo-key-400'] as const) {
        if (fault !== undefined) control.useRouteFault(fault, 1000);
        for (const [tool, given] of calls) await admin.call(tool, given);
        control.clearFaults();
      }
      const pair = { preview_token: await previewed(admin, 2, '1'), idempotency_key: keyNumber(1) };
      await admin.call('recharge', pair);
      await admin.ask('tools/call', { name: 'nonsense' });
      admin.write('garbage\n');
      await admin.outputMatching(/stray-input/);
      await admin.endInput();
      assert.ok(admin.lines().length > calls.length * 4);
      for (const line of admin.lines()) {
        const message = JSON.parse(line) as Message;
        assert.is(message.jsonrpc, '2.0');
        assert.is(Object.hasOwn(message, 'result') !== Object.hasOwn(message, 'error'), true);
        assert.ok(message.id !== undefined && message.method === undefined);
      }
      const others = admin
        .stderr()
        .trimEnd()
        .split('\n')
        .filter((line) => line !== 'chatter');
      for (const line of others) assert.is((JSON.parse(line) as { service: string }).service, 'relay-admin');
    }),
  );
});
