import * as assert from 'uvu/assert';
import type { AnswerMeasurement } from '../../../src/bridge/metrics.ts';
import type { AnswerEnd, OutputEvent } from '../../../src/bridge/output.ts';
import { Fault } from '../../../src/core/fault.ts';
import { describe, rejection } from '../../check.ts';
import { createFakeClock } from '../../fake-clock.ts';
import { NO_BRIDGE_METRICS } from '../harness/metrics.ts';
import { measured } from '../harness/polled.ts';
import { ASK, ended, failed, type Reported, reporting, textEvents, thought } from '../harness/recorded-outputs.ts';

const countingOf = () => {
  const clock = createFakeClock();
  const facts: AnswerMeasurement[] = [];
  const ends: AnswerEnd[] = [];
  const counting = {
    clock,
    meter: { ...NO_BRIDGE_METRICS, recordAnswer: (fact: AnswerMeasurement) => void facts.push(fact) },
    startedAt: clock.now() - 100,
    endpoint: 'chat' as const,
    isStreamed: true,
    onEnd: (end: AnswerEnd) => void ends.push(end),
  };
  return { clock, facts, ends, counting };
};
const outcomeOf = async (...outputEvents: readonly Reported[]): Promise<string> => {
  const { facts, counting } = countingOf();
  for await (const _ of measured(reporting(...outputEvents), counting));
  assert.is(facts.length, 1);
  return facts[0]?.outcome ?? '';
};

describe('an answer that is counted', (check) => {
  check('is reported as it is, with the time until its first word and its end', async () => {
    const { clock, facts, ends, counting } = countingOf();
    const reported: OutputEvent[] = [];
    for await (const outputEvent of measured(
      reporting(thought('r', 'Hm'), textEvents('t', 'a', 'b'), ended()),
      counting,
    )) {
      reported.push(outputEvent);
      await clock.advance(10);
    }
    assert.is(reported.length, 6);
    assert.equal(facts, [
      { endpoint: 'chat', isStreamed: true, outcome: 'answered', firstWordMs: 120, durationMs: 160 },
    ]);
    assert.is(ends.length, 1);
  });

  check('has ended well, with a question, or badly', async () => {
    assert.is(await outcomeOf(textEvents('t', 'a'), ended()), 'answered');
    assert.is(await outcomeOf(textEvents('t', 'a'), ended({ approvalRequests: [ASK] })), 'asked');
    assert.is(await outcomeOf(textEvents('t', 'a'), failed()), 'failed');
  });

  check('may hold no word', async () => {
    const { facts, counting } = countingOf();
    for await (const _ of measured(reporting(thought('r', 'Hm'), ended()), counting));
    assert.is(facts[0]!.firstWordMs, undefined);
  });

  check('was left where its reader stops early, and its source is ended', async () => {
    const { facts, counting, ends } = countingOf();
    let isEnded = false;
    async function* source(): AsyncGenerator<OutputEvent> {
      try {
        yield* reporting(textEvents('t', 'a', 'b'), ended());
      } finally {
        isEnded = true;
      }
    }
    for await (const _ of measured(source(), counting)) break;
    assert.equal([facts[0]?.outcome, isEnded, ends], ['left', true, []]);
  });

  check('is no answer that was left when its reader stops after the last word', async () => {
    const { facts, counting } = countingOf();
    for await (const outputEvent of measured(reporting(ended()), counting)) if (outputEvent.kind === 'end') break;
    assert.is(facts[0]?.outcome, 'answered');
  });

  check('that throws has failed, unless its client has left', async () => {
    for (const [error, outcome] of [
      [new Error('a bug'), 'failed'],
      [new Fault({ kind: 'backend-timeout' }), 'failed'],
      [new Fault({ kind: 'client-left' }), 'left'],
    ] as const) {
      const { facts, counting } = countingOf();
      async function* source(): AsyncGenerator<OutputEvent> {
        yield* reporting(textEvents('t', 'a'));
        throw error;
      }
      const reading = async () => {
        for await (const _ of measured(source(), counting));
      };
      assert.is(await rejection(reading()), error);
      assert.equal(
        facts.map((fact) => fact.outcome),
        [outcome],
      );
    }
  });
});
