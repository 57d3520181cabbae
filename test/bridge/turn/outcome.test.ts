import * as fc from 'fast-check';
import * as assert from 'uvu/assert';
import { waitForEach } from '../../../src/bridge/stream/polled-output.ts';
import { createTurnLog } from '../../../src/bridge/turn/log.ts';
import { readOutput } from '../../../src/bridge/turn/log-reader.ts';
import {
  LOG_START,
  type LogPosition,
  readSentText,
  type TurnOutcome,
  waitForOutcome,
  withTextIfSilent,
} from '../../../src/bridge/turn/outcome.ts';
import { describe, rejection } from '../../check.ts';
import { createFakeClock } from '../../fake-clock.ts';
import {
  appendText,
  askNamed,
  callItem,
  joinedTexts,
  NEVER,
  quiet,
  type Reader,
  readerOf,
  wholeIn,
} from '../harness/log-readers.ts';
import { FAILURE } from '../harness/recorded-outputs.ts';

const STOP = { kind: 'answered', finish: 'stop' } as const;
const cost = (prompt: number, completion: number) => ({
  prompt,
  cached: prompt / 10,
  cacheWritten: prompt / 5,
  completion,
  reasoning: 1,
});

const begin = (from: LogPosition = LOG_START, writer = createTurnLog(), signal = NEVER) => {
  const clock = createFakeClock();
  const outcome = waitForOutcome(writer.log, from, { clock, signal });
  let settled: TurnOutcome | undefined;
  outcome.then(
    (how) => {
      settled = how;
    },
    () => {},
  );
  return { writer, clock, outcome, settled: () => settled };
};
const asksIn = (outcome: TurnOutcome | undefined): readonly string[] =>
  outcome?.last.kind === 'end' ? outcome.last.end.approvalRequests.map(({ id }) => id) : ['none'];

describe('an exchange', (check) => {
  check('ends with its turn, and with what that has cost', async () => {
    const { writer, clock, outcome, settled } = begin();
    appendText(writer, 't', 'One');
    await clock.advance(60_000);
    assert.is(settled(), undefined);
    writer.setUsage(cost(100, 7));
    writer.finish({ kind: 'answered', finish: 'content_filter' });
    assert.equal(await outcome, {
      items: 1,
      usage: cost(100, 7),
      last: { kind: 'end', end: { finish: 'content_filter', usage: cost(100, 7), approvalRequests: [] } },
      closing: '',
    });
    assert.is(clock.pending(), 0);
  });

  check('ends with the failure of its turn', async () => {
    const { writer, outcome } = begin();
    writer.finish({ kind: 'failed', failure: FAILURE });
    assert.equal((await outcome).last, { kind: 'failure', failure: FAILURE });
  });

  check('ends with a question, once no other comes with it', async () => {
    const { writer, clock, settled } = begin();
    writer.addApprovalRequest(askNamed('per_1'));
    await clock.advance(90);
    writer.addApprovalRequest(askNamed('per_2'));
    await clock.advance(90);
    assert.is(settled(), undefined);
    await clock.advance(110);
    assert.equal(asksIn(settled()), ['per_1', 'per_2']);
  });

  check('does not end with a question that was answered meanwhile', async () => {
    const { writer, clock, settled } = begin();
    writer.addApprovalRequest(askNamed('per_1'));
    await clock.advance(50);
    writer.removeApprovalRequest('per_1');
    await clock.advance(1000);
    assert.is(settled(), undefined);
    writer.addApprovalRequest(askNamed('per_2'));
    await clock.advance(50);
    writer.finish(STOP);
    await clock.advance(60);
    assert.equal(asksIn(settled()), []);
  });

  check('that goes on after a question costs only what came since, and holds only what came since', async () => {
    const { writer, clock, outcome } = begin();
    appendText(writer, 't', 'I pay');
    writer.addApprovalRequest(askNamed('per_1'));
    writer.setUsage(cost(100, 7));
    await clock.advance(50);
    appendText(writer, 't', ' five');
    writer.setUsage(cost(110, 8));
    await clock.advance(100);
    const first = await outcome;
    assert.equal([first.items, first.usage], [1, cost(110, 8)]);
    assert.match(
      readSentText(writer.log, LOG_START, first),
      /^I pay five\n\nThe agent asks for approval: pay\n```text\n\{\}\n```/,
    );
    writer.removeApprovalRequest('per_1');
    const second = begin(first, writer);
    appendText(writer, 't', ' now');
    writer.setUsage({ ...cost(300, 20), reasoning: 4 });
    writer.finish(STOP);
    const { last } = await second.outcome;
    assert.equal(last.kind === 'end' && last.end.usage, {
      prompt: 190,
      cached: 19,
      cacheWritten: 38,
      completion: 12,
      reasoning: 3,
    });
    assert.is(readSentText(writer.log, first, await second.outcome), ' now');
  });

  check('holds every text of it, each in its paragraph, and nothing else', async () => {
    const { writer, outcome } = begin();
    appendText(writer, 'r', 'Hm', 'reasoning');
    appendText(writer, 'a', 'One');
    appendText(writer, 'a', ' two');
    writer.setCall(callItem('c', 'seen'));
    appendText(writer, 'empty', '');
    appendText(writer, 'b', 'Three');
    writer.finish({ kind: 'failed', failure: FAILURE });
    assert.is(readSentText(writer.log, LOG_START, await outcome), 'One two\n\nThree');
  });

  check('is closed with other words where nothing was said, and only there', async () => {
    const withText = async (how: 'stop' | 'failed', ...words: readonly string[]) => {
      const { writer, outcome } = begin();
      for (const text of words) appendText(writer, text, text);
      appendText(writer, 'r', 'Hm', 'reasoning');
      writer.finish(how === 'stop' ? STOP : { kind: 'failed', failure: FAILURE });
      return withTextIfSilent(writer.log, LOG_START, await outcome, 'Rejected.').closing;
    };
    assert.equal(
      [await withText('stop'), await withText('stop', ' \n'), await withText('stop', 'One'), await withText('failed')],
      ['Rejected.', 'Rejected.', '', ''],
    );
    const { writer, clock, outcome } = begin();
    writer.addApprovalRequest(askNamed('per_1'));
    await clock.advance(200);
    assert.match(withTextIfSilent(writer.log, LOG_START, await outcome, 'Rejected.').closing, /^The agent asks/);
    assert.match(withTextIfSilent(writer.log, LOG_START, await outcome, undefined).closing, /^The agent asks/);
  });

  check('is waited for no longer than its signal says', async () => {
    for (const hasAsk of [false, true]) {
      const leaving = new AbortController();
      const { writer, clock, outcome } = begin(LOG_START, createTurnLog(), leaving.signal);
      if (hasAsk) writer.addApprovalRequest(askNamed('per_1'));
      await quiet();
      leaving.abort('gone');
      assert.is(await rejection(outcome), 'gone');
      assert.is(clock.pending(), 0);
    }
  });
});

const aDeed = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('say' as const),
      id: fc.constantFrom('a', 'b', 'r'),
      more: fc.string({ maxLength: 3 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('call' as const), id: fc.constantFrom('c', 'd') }) },
  { weight: 2, arbitrary: fc.constant({ kind: 'ask' as const }) },
  { weight: 3, arbitrary: fc.constant({ kind: 'answer' as const }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.nat({ max: 150 }) }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('read' as const), reader: fc.nat({ max: 3 }) }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'join' as const }) },
);
type Deed = typeof aDeed extends fc.Arbitrary<infer One> ? One : never;

/** Plays a turn with its questions, exchange after exchange, before readers of any pace. */
const play = async (deeds: readonly Deed[]) => {
  const writer = createTurnLog();
  const clock = createFakeClock();
  const gates: (() => void)[] = [];
  const exchanges: {
    kept: Promise<TurnOutcome>;
    how: TurnOutcome | undefined;
    readers: Reader[];
    from: LogPosition;
  }[] = [];
  let asked = 0;
  const beginAt = (from: LogPosition): void => {
    // It takes a while to note how it ended, and the turn may go on meanwhile.
    const kept = waitForOutcome(writer.log, from, { clock, signal: NEVER }).then(async (how) => {
      await new Promise<void>((resolve) => clock.after(40, resolve));
      return how;
    });
    const exchange = { kept, how: undefined as TurnOutcome | undefined, readers: [], from };
    kept.then((how) => {
      exchange.how = how;
    });
    exchanges.push(exchange);
    join();
  };
  const join = (): void => {
    const exchange = exchanges.at(-1);
    const isSlow = (exchange?.readers.length ?? 0) % 2 === 1;
    const step = () => (isSlow ? new Promise<void>((resolve) => gates.push(resolve)) : Promise.resolve());
    if (exchange !== undefined)
      exchange.readers.push(
        readerOf(
          waitForEach(readOutput(writer.log, { from: exchange.from, outcome: exchange.kept, signal: NEVER })),
          step,
        ),
      );
  };
  const answer = (): void => {
    const how = exchanges.at(-1)?.how;
    if (how === undefined) return;
    for (const { id } of writer.log.approvalRequests()) writer.removeApprovalRequest(id);
    beginAt(how);
  };
  beginAt(LOG_START);
  for (const deed of deeds) {
    if (deed.kind === 'say') appendText(writer, deed.id, deed.more, deed.id === 'r' ? 'reasoning' : 'text');
    else if (deed.kind === 'call') writer.setCall(callItem(deed.id, writer.hasResult(deed.id) ? 'seen' : undefined));
    else if (deed.kind === 'ask') writer.addApprovalRequest(askNamed(`per_${++asked}`));
    else if (deed.kind === 'answer') answer();
    else if (deed.kind === 'wait') await clock.advance(deed.ms);
    else if (deed.kind === 'read') gates[deed.reader]?.();
    else join();
    await quiet();
  }
  await clock.advance(1000);
  if (writer.log.approvalRequests().length > 0) answer();
  writer.finish(STOP);
  await clock.advance(1000);
  const open = setInterval(() => {
    for (const go of gates.splice(0)) go();
  }, 0);
  const readers = exchanges.flatMap((exchange) => exchange.readers);
  await Promise.all(readers.map(({ over }) => over));
  clearInterval(open);
  return { writer, exchanges, clock };
};

describe('the answers of a turn, one after the other,', (check) => {
  check('give everything that is written, once and in order, to every reader', () =>
    fc.assert(
      fc.asyncProperty(fc.array(aDeed, { maxLength: 40, size: 'max' }), async (deeds) => {
        const { writer, exchanges, clock } = await play(deeds);
        const texts = (collected: readonly string[]) => collected.filter((word) => /^[abr](?:\+\d+)?: /.test(word));
        const reportedAll = exchanges.map(({ readers: [first] }) => wholeIn(texts(first?.collected ?? []))).join('');
        const outputText = writer.log.items().map((item) => (item.kind === 'call' ? '' : item.pieces.join('')));
        assert.is(reportedAll, outputText.join(''));
        for (const { readers, from, how } of exchanges) {
          assert.ok(how);
          const paragraphs = joinedTexts(readers[0]?.collected ?? []).flatMap(
            (word) => /^(?:[ab]|closing)[^:]*: ([\s\S]*)$/.exec(word)?.slice(1) ?? [],
          );
          assert.is(readSentText(writer.log, from, how), paragraphs.join('\n\n'));
          const [first, ...others] = readers.map(({ collected }) => joinedTexts(collected));
          for (const other of others) assert.equal(texts(other), texts(first ?? []));
          for (const collected of [first ?? [], ...others]) {
            const begun = collected.flatMap(
              (word) => /^([^:() ]+): |^\((\S+)$/.exec(word)?.slice(1).filter(Boolean) ?? [],
            );
            const ended = collected.flatMap((word) => /^(\S+)\.$|^(\S+)\)/.exec(word)?.slice(1).filter(Boolean) ?? []);
            assert.equal([...begun].sort(), [...ended].sort());
            assert.is(collected.filter((word) => word.startsWith('end ')).length, 1);
            assert.match(collected.at(-1) ?? '', /^end /);
          }
        }
        assert.is(clock.pending(), 0);
      }),
      { numRuns: 300 },
    ),
  );
});
