import { createHash } from 'node:crypto';
import * as assert from 'uvu/assert';
import type { ToolAnswer } from '../../../src/relay-admin/app.ts';
import { type Command, PROCESSES, TARGETS, USERS } from './commands.ts';
import { createProcesses, type Process } from './processes.ts';

type Token = { readonly text: string; readonly userId: number; readonly amount: string };
type PairId = string;
type Call = {
  readonly token: number;
  readonly key: number;
  readonly process: Process;
  readonly cancel: AbortController;
  readonly startedAt: number;
  readonly failedReads: number;
  answer?: ToolAnswer;
};
/** What callers were told about a pair, and when for the first time. */
type Reported = {
  onRecordAt?: number;
  verifiedAt?: number;
  refusedAt?: number;
  /** Who knows for certain, and since when, whatever becomes of the journal. */
  readonly knowing: Map<Process, number>;
};

const keyOf = (key: number): string => `key-${String(key).padStart(16, '0')}`;
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const markerOf = (key: string): string => `rc_${sha256(`key ${key}`).slice(0, 16)}`;

/** Refusals that stand for good: the claim was made, and came to nothing. */
const FINAL = /^RECHARGE_REFUSED|^RECHARGE_NOT_SENT|^IDEMPOTENCY_CONFLICT: the relay already knows/;
const codeOf = (text: string): string => text.slice(0, text.indexOf(':'));

const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
};

/** Plays a script, and holds everything that happens against what must be so. Answers with what callers were told. */
export const play = async (script: readonly Command[]): Promise<readonly string[]> => {
  const world = createProcesses();
  const { control, clock, operations } = world;
  const tokens: Token[] = [];
  const calls: Call[] = [];
  const reported = new Map<PairId, Reported>();
  const codes: string[] = [];
  let moment = 0;
  let isJournalFaulty = false;
  const processes = Array.from({ length: PROCESSES }, (_, index) => world.start(`p${index}`));
  const processAt = (index: number): Process => processes[index % PROCESSES]!;

  const settle = async (): Promise<void> => {
    await turns();
    for (let left = 3000; operations.waiting().length > 0; left--) {
      if (left === 0) throw new Error(`never comes to rest: ${operations.waiting()}`);
      operations.release(0);
      await turns();
    }
  };
  const withPartsOf = ({ token, key }: Call): Reported => {
    const id = `${token}/${key}`;
    const known = reported.get(id) ?? { knowing: new Map() };
    reported.set(id, known);
    return known;
  };
  const creditsOf = ({ token, key }: Call, until = Number.POSITIVE_INFINITY) =>
    control
      .credits()
      .slice(0, until)
      .filter(({ amount, idempotencyKey }) => amount === tokens[token]?.amount && idempotencyKey === keyOf(key));
  /** What the disk did not take, or does not give, cannot be known after a restart, or to another process. */
  const isForgotten = ({ key, process, failedReads, startedAt }: Call, { knowing }: Reported): boolean => {
    if ((knowing.get(process) ?? moment) < startedAt) return false;
    if (process.failedReads() > failedReads) return true;
    const by = world
      .lines()
      .concat(world.refusedLines)
      .filter((line) => line.includes('"claim"') && line.includes(sha256(`key ${keyOf(key)}`)))
      .map((line) => /"by":"([^"]+)"/.exec(line)?.[1] ?? '?');
    return world.refusedLines.some((line) => line.includes('"settlement"') && by.some((id) => line.includes(id)));
  };

  const checkResult = (call: Call, result: Readonly<Record<string, unknown>>): void => {
    const known = withPartsOf(call);
    const { userId, amount } = tokens[call.token]!;
    assert.is(result.user_id, userId);
    assert.is(result.amount, amount);
    assert.is(result.marker, markerOf(keyOf(call.key)));
    assert.is.not(known.refusedAt !== undefined && known.refusedAt < call.startedAt && !isForgotten(call, known), true);
    known.onRecordAt ??= moment;
    codes.push(String(result.reason ?? result.outcome));
    if (result.outcome === 'verified') {
      assert.is(result.reason, null);
      assert.is(creditsOf(call).length, 1, 'verified without just one credit');
      known.verifiedAt ??= moment;
      if (!known.knowing.has(call.process)) known.knowing.set(call.process, moment);
      return;
    }
    assert.is(result.outcome, 'accepted_unverified');
    assert.type(result.reason, 'string');
    assert.match(String(result.advice), /do not report it as done|not a success/i);
    const wasVerified = known.verifiedAt !== undefined && known.verifiedAt < call.startedAt;
    assert.is(wasVerified && !isForgotten(call, known), false, 'what was verified is not any more');
  };
  const checkRefusal = (call: Call, text: string): void => {
    const code = codeOf(text);
    const known = withPartsOf(call);
    codes.push(code);
    if (code === 'JOURNAL_UNAVAILABLE') {
      assert.ok(isJournalFaulty, text);
      assert.ok((known.knowing.get(call.process) ?? moment) >= call.startedAt, 'known, and not told');
      return;
    }
    assert.match(text, ' outcome=not_applied ', text);
    assert.equal(creditsOf(call, call.process.creditsAtLastRead()), [], `credited, and said not to be: ${text}`);
    const wasOnRecord = known.onRecordAt !== undefined && known.onRecordAt < call.startedAt;
    assert.is(wasOnRecord && !FINAL.test(text), false, `on record, and then refused: ${text}`);
    if (!FINAL.test(text)) return;
    assert.equal(creditsOf(call), [], `credited, and said not to be: ${text}`);
    assert.is(known.verifiedAt, undefined);
    known.refusedAt ??= moment;
    if (!known.knowing.has(call.process)) known.knowing.set(call.process, moment);
  };
  const checkRelay = (): void => {
    const posts = control.requests().filter(({ method }) => method !== 'GET');
    const seen = { amounts: new Set<string>(), keys: new Set<string>() };
    for (const { method, target, headers, body } of posts) {
      assert.is(method, 'POST');
      const amount = /^\{"balance":([\d.]+),/.exec(body)?.[1] ?? '';
      const token = tokens.findIndex((one) => one.amount === amount);
      assert.is.not(token, -1, `an amount that nobody has confirmed: ${body}`);
      const key = headers['idempotency-key'] ?? '';
      assert.is(target, `/api/v1/admin/users/${tokens[token]?.userId}/balance`);
      assert.ok(calls.some((call) => call.token === token && keyOf(call.key) === key));
      assert.equal(JSON.parse(body), {
        balance: Number(amount),
        operation: 'add',
        notes: `recharge ${markerOf(key)}`,
      });
      assert.is(seen.amounts.has(amount), false, `sent twice: ${amount}`);
      assert.is(seen.keys.has(key), false, `sent twice: ${key}`);
      seen.amounts.add(amount);
      seen.keys.add(key);
    }
    const credits = control.credits();
    assert.is(new Set(credits.map(({ amount }) => amount)).size, credits.length, 'a token was credited twice');
    assert.is(new Set(credits.map(({ idempotencyKey }) => idempotencyKey)).size, credits.length);
    for (const { userId, amount } of credits) {
      assert.ok(tokens.some((token) => token.userId === userId && token.amount === amount));
    }
    for (const call of calls) {
      if (withPartsOf(call).refusedAt !== undefined) assert.equal(creditsOf(call), [], 'refused, and credited later');
      if (withPartsOf(call).verifiedAt !== undefined) assert.is(creditsOf(call).length, 1);
    }
  };

  const preview = (process: Process, userId: number): void => {
    const index = tokens.length;
    // No two tokens have one amount, so that a credit tells which one it belongs to.
    const amount = `${index + 1}.000${index + 11}7`;
    tokens.push({ text: 'rp1.not-yet', userId, amount });
    const { signal } = new AbortController();
    void process.admin.call('preview_recharge', { user_id: userId, amount }, signal).then((answer) => {
      if (answer.kind === 'done' && process.life.isAlive)
        tokens[index] = { text: String(answer.result.preview_token), userId, amount };
    });
  };
  const call = (process: Process, token: number, key: number): void => {
    moment += 1;
    const one: Call = {
      token,
      key,
      process,
      cancel: new AbortController(),
      startedAt: moment,
      failedReads: process.failedReads(),
    };
    calls.push(one);
    const given = { preview_token: tokens[token]!.text, idempotency_key: keyOf(key) };
    void process.admin.call('recharge', given, one.cancel.signal).then((answer) => {
      if (!process.life.isAlive) return;
      moment += 1;
      one.answer = answer;
      try {
        if (answer.kind === 'done') checkResult(one, answer.result);
        else if (answer.kind === 'failed') checkRefusal(one, answer.text);
      } catch (error) {
        broken ??= error;
      }
    });
  };
  let broken: unknown;
  const kill = (index: number, shares: readonly number[]): void => {
    operations.kill(processAt(index).life, shares);
    processes[index % PROCESSES] = world.start(`p${index % PROCESSES}`);
  };
  const run = async (command: Command): Promise<void> => {
    switch (command.do) {
      case 'preview':
        return preview(processAt(command.process), USERS[command.user]!);
      case 'call':
        for (let time = 0; time < command.times; time++)
          call(processAt(command.process), command.token % tokens.length, command.key % (tokens.length + 1));
        return;
      case 'again': {
        const earlier = calls[command.call % Math.max(1, calls.length)];
        if (earlier === undefined) return;
        for (let time = 0; time < command.times; time++) call(processAt(command.process), earlier.token, earlier.key);
        return;
      }
      case 'cancel':
        return calls[command.call % Math.max(1, calls.length)]?.cancel.abort();
      case 'kill':
        return kill(command.process, command.shares);
      case 'wait':
        return clock.advance(command.ms);
      case 'balance-fault':
        return control.useFault(command.fault);
      case 'read-fault':
        return control.useRouteFault(command.fault, command.times, TARGETS[command.target]);
      case 'journal-fault':
        isJournalFaulty = true;
        return world.useJournalFault(command.fault);
      case 'spend':
        if (command.isRunning) return control.setRunningDebit(USERS[command.user]!, '0.00000003');
        return control.debit(USERS[command.user]!, '0.7');
      case 'release':
        for (const pick of command.picks) {
          operations.release(pick);
          await turns();
        }
        return;
      case 'settle':
        return settle();
    }
  };
  const step = async (command: Command): Promise<void> => {
    await run(command);
    await turns();
    checkRelay();
    if (broken !== undefined) throw broken;
  };
  /** Until every call has its answer: nothing that is left lasts longer than a call may. */
  const finish = async (): Promise<void> => {
    for (let round = 0; round < 3; round++) {
      await settle();
      await clock.advance(40_000);
    }
    await step({ do: 'settle' });
    for (const { answer, process } of calls) assert.ok(answer !== undefined || !process.life.isAlive, 'no answer');
  };

  for (const [index, user] of USERS.entries()) preview(processAt(index), user);
  preview(processAt(0), USERS[0]);
  await settle();
  for (const command of script) await step(command);
  control.clearFaults();
  world.clearJournalFaults();
  await finish();
  // After all that, a new start; everything that was ever asked for is asked for again, and then once more.
  const pairs = new Map(calls.map((one) => [`${one.token}/${one.key}`, one]));
  for (let round = 0; round < 2; round++) {
    for (let index = 0; index < PROCESSES; index++) kill(index, [1]);
    for (const { token, key } of pairs.values()) {
      call(processAt(round), token, key);
      await finish();
    }
  }
  return codes;
};
