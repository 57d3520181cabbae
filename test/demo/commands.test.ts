import { spawnSync } from 'node:child_process';
import * as assert from 'uvu/assert';
import type { CommandSettings } from '../../src/demo/command-line.ts';
import { demoCommands } from '../../src/demo/commands.ts';
import { describe } from '../check.ts';

const FACTS: CommandSettings = {
  gateway: 'http://127.0.0.1:1',
  agent: 'http://127.0.0.1:2',
  bridge: 'http://127.0.0.1:3',
  relay: 'http://127.0.0.1:4',
  relayKey: 'sk-user',
  adminKey: 'admin-key',
  key: 'a-key',
  node: '/opt/node',
  openaiDirectory: '/opt/a clone',
};
const commands = (facts: Partial<CommandSettings> = {}) => demoCommands({ ...FACTS, ...facts });
const sightOf = (place: number, output: unknown) =>
  commands()[place]?.checkOutput(typeof output === 'string' ? output : JSON.stringify(output));
const isKept = (place: number, output: unknown): boolean => sightOf(place, output)?.isAsExpected ?? false;

const verdict = (flagged: boolean) => ({ results: [{ flagged, category_scores: { hate: 0.1, violence: 0.9 } }] });
const outputText = (content: string, model = 'demo/demo-model') => ({ model, choices: [{ message: { content } }] });
const passed = { choices: [{ message: { content: 'The model answered.' } }] };
const hasShell = spawnSync('sh', ['-c', ':']).status === 0;

/** What a shell makes of a line, word by word; nothing of it is run. */
const promptTexts = (line: string): string[] => {
  const script = `curl() { printf '%s\\0' "$@"; }; cd() { :; }; sed() { echo per_1; }; ${line}`;
  return spawnSync('sh', ['-c', script]).stdout.toString().split('\0');
};

describe("the demo's commands", (check) => {
  check('are ten, each on one line and with another title', () => {
    assert.is(commands().length, 10);
    assert.is(new Set(commands().map(({ title }) => title)).size, 10);
    for (const { line } of commands()) assert.not.match(line, '\n');
  });

  if (hasShell)
    check('approve nothing where no request waits for approval, and say so', () => {
      const line = commands()[4]?.line ?? '';
      assert.match(promptTexts(line).join(' '), /approve per_1/);
      const script = `curl() { case "$*" in *approve*) echo sent;; *) echo '[]';; esac; }; ${line}`;
      const { stdout } = spawnSync('sh', ['-c', script], { encoding: 'utf8' });
      assert.is(stdout, 'No request waits for approval: run the command before this one first\n');
    });

  check('believe a verdict only if it is the one that was promised', () => {
    assert.equal([isKept(0, verdict(true)), isKept(0, verdict(false))], [true, false]);
    assert.equal([isKept(1, verdict(true)), isKept(1, verdict(false))], [false, true]);
    assert.is(sightOf(0, verdict(true))?.summary, 'flagged true, violence 0.9');
    for (const output of ['', '{}', { error: { message: 'no' } }, 'curl: (7) refused']) {
      assert.equal([isKept(0, output), isKept(1, output)], [false, false]);
    }
  });

  check('believe an answer only if the demo model gave it', () => {
    assert.ok(isKept(2, 'demo/demo-model: You said: "Good morning". I am'));
    assert.not(isKept(2, 'cloud/gpt-oss: You said: "Good morning".'));
    assert.is(sightOf(2, 'at x:1\n\nError [ERR]: no openai\n  at y')?.summary, 'Error [ERR]: no openai');
    const asks = 'One moment.\n\nThe agent asks for approval: relay-admin_recharge\n```text\n{}\n```';
    assert.ok(isKept(3, outputText(asks)));
    assert.not(isKept(3, outputText(asks, 'another/model')));
    assert.not(isKept(3, outputText('Verified: 2.5 was added for alice@example.com')));
  });

  check('believe a recharge only if it was verified', () => {
    assert.ok(isKept(4, outputText('The maintainer says: Verified: 2.5 was added for alice@example.com, whose')));
    assert.not(isKept(4, outputText('The recharge of alice@example.com is not confirmed (accepted_unverified).')));
    assert.not(isKept(4, outputText('The maintainer says: Verified: 2 was added for alice@example.com')));
    assert.is(sightOf(4, '')?.summary, 'no output');
  });

  check('believe that the relay refuses a chat only if the engine is why that was promised', () => {
    const codes = ['content_policy_violation', 'prompt_guard_blocked', 'prompt_guard_unavailable', 'INVALID_API_KEY'];
    for (const [place, expected] of [
      [5, 'content_policy_violation'],
      [6, 'prompt_guard_blocked'],
    ] as const) {
      assert.equal(
        codes.filter((code) => isKept(place, { error: { code } })),
        [expected],
      );
      for (const output of ['', { choices: [] }, passed]) assert.not(isKept(place, output));
    }
    const down = (code: string, then: unknown) => `${JSON.stringify({ error: { code } })}\n${JSON.stringify(then)}`;
    assert.ok(isKept(9, down('prompt_guard_unavailable', passed)));
    for (const output of ['', passed, down('prompt_guard_blocked', passed), down('prompt_guard_unavailable', {})])
      assert.not(isKept(9, output));
    assert.match(commands()[5]?.line ?? '', /127\.0\.0\.1:4\/v1\/chat\/completions.*Bearer sk-user/);
  });

  check(
    'believe that a chat has passed only if the model answers, and that there was a doubt only if it was recorded',
    () => {
      assert.ok(isKept(7, passed));
      assert.not(isKept(7, { error: { code: 'content_policy_violation' } }));
      const recorded = (...decisions: string[]) =>
        `${JSON.stringify(passed)}\n${JSON.stringify({ data: { items: decisions.map((decision) => ({ decision })) } })}`;
      assert.ok(isKept(8, recorded('flag', 'block')));
      for (const output of [recorded('block', 'flag'), recorded(), passed, '']) assert.not(isKept(8, output));
    },
  );

  check.needing(hasShell ? undefined : 'sh', 'send the audit elsewhere and back, as JSON', () => {
    const words = promptTexts(commands()[9]?.line ?? '');
    const sent = words
      .filter((word) => word.startsWith('{'))
      .map((word) => JSON.parse(word.replace('per_1', '1')) as { endpoints?: { base_url: string }[] });
    assert.equal(
      sent.map(({ endpoints }) => endpoints?.[0]?.base_url),
      ['http://localhost:9', undefined, 'http://127.0.0.1:1', undefined],
    );
  });

  check('end each answer with a line break', () => {
    for (const { line } of commands().slice(5))
      for (const [, words = ''] of line.matchAll(/curl ([^;|]*)/g))
        if (!words.includes('-o /dev/null') && !words.includes('/prompt-audit/config'))
          assert.match(words, String.raw`-w '\n'`);
  });

  check('say what to install where there is no OpenAI client', () => {
    const [, , client] = commands({ openaiDirectory: undefined });
    assert.match(`${client?.title}`, 'npm install openai');
    assert.is(client?.line.includes('cd '), false);
  });

  check.needing(hasShell ? undefined : 'sh', 'pass a key through the shell as it is, whatever is in it', () => {
    const key = `k'"$(echo no)\`\\`;
    for (const place of [0, 1, 3, 4]) {
      const words = promptTexts(commands({ key })[place]?.line ?? '');
      assert.ok(words.includes(`Authorization: Bearer ${key}`), words.join(' '));
    }
  });

  check.needing(hasShell ? undefined : 'sh', 'send JSON, in the last one with the id that the agent has listed', () => {
    const [, , , asking, approving] = commands().map(({ line }) => promptTexts(line));
    const messageIn = (words: readonly string[] = []) =>
      (JSON.parse(words.at(-2) ?? '') as { messages: [{ content: string }] }).messages[0].content;
    assert.is(messageIn(asking), 'recharge alice@example.com by 2.5');
    assert.is(messageIn(approving), 'approve per_1');
  });
});
