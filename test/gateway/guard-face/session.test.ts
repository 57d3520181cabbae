import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { processorTime } from '../../processor-time.ts';
import { slowness } from '../../stopwatch.ts';
import { askGuard, guarding } from '../harness/guard-face.ts';
import { auditBody, chunksOf } from '../harness/relay-audit.ts';
import { gatewayOver } from '../harness/world.ts';

const WORDS = ['const', 'result', 'await', 'session', 'ERROR', 'at', 'file', 'line', 'return', 'test', 'passed', 'if'];
/** A part of an agent's session: ordinary words, the same for the same number. */
const partOf = (number: number, chars: number): string => {
  let state = number * 2_654_435_761 + 1;
  let text = `Step ${number}:`;
  while (text.length < chars) {
    state = (state * 48_271) % 2_147_483_647;
    text += ` ${WORDS[state % WORDS.length]}${state % 97}`;
  }
  return text.slice(0, chars);
};

const PROMPTS = 40;
const FIRST_CHARS = 100_000;
const STEP_CHARS = 1500;

/** An agent's session: a long beginning, and in each prompt an answer of the tools more. */
const session = (): readonly (readonly string[])[] => {
  const steps = Array.from({ length: PROMPTS }, (_, index) => partOf(index + 2, STEP_CHARS));
  return steps.map((_, index) => [partOf(1, FIRST_CHARS), ...steps.slice(0, index + 1)]);
};

/** The processor time of one round, the mean of ten, as it is on a machine that nobody else slows down. */
const processorMsOf = async (round: () => Promise<void>): Promise<number> => {
  const rounds = 10;
  const times = slowness();
  const spentMs = processorTime();
  for (let index = 0; index < rounds; index += 1) await round();
  return spentMs() / rounds / times;
};

describe('the growing prompts of an agent', (check) => {
  check('cost their new text only, and an answer that is known takes little of the processor', async () => {
    const world = gatewayOver(guarding());
    const audit = async (parts: readonly string[]): Promise<number> => {
      const before = world.calls.length;
      for (const chunk of chunksOf(parts)) assert.is((await askGuard(world, auditBody(chunk))).status, 200);
      return world.calls.length - before;
    };
    const prompts = session();
    const calls: number[] = [];
    for (const parts of prompts) calls.push(await audit(parts));
    const [first = 0, ...rest] = calls;
    const chunks = prompts.reduce((sum, parts) => sum + chunksOf(parts).length, 0);
    const total = calls.reduce((sum, count) => sum + count, 0);
    console.log(
      `${PROMPTS} prompts, ${chunks} chunks, ${total} calls: ${first} for the first, ${Math.max(...rest)} at most after it`,
    );
    assert.is(first, 26);
    // The latest part, and the last chunk of the rest, which the part before it has made longer; a second where that overflows.
    assert.ok(
      rest.every((count) => count <= 3),
      calls.join(' '),
    );
    assert.ok(total < first + 3 * PROMPTS && chunks > 8 * total);

    const last = prompts.at(-1) ?? [];
    const ms = await processorMsOf(async () => assert.is(await audit(last), 0));
    const msOfChunk = ms / chunksOf(last).length;
    console.log(`${msOfChunk.toFixed(2)} ms of the processor for a chunk that is known`);
    assert.ok(msOfChunk < 5, `${msOfChunk} ms`);
  });

  check('cost the windows of their new end where a platform sends each in one piece', async () => {
    const world = gatewayOver(guarding(), { variables: { MAX_INPUT_CHARS: '1000000' } });
    const calls: number[] = [];
    for (const parts of session()) {
      const before = world.calls.length;
      assert.is((await askGuard(world, auditBody(parts.join('\n\n')))).status, 200);
      calls.push(world.calls.length - before);
    }
    const [first = 0, ...rest] = calls;
    console.log(`${PROMPTS} prompts of one text: ${first} calls for the first, ${Math.max(...rest)} at most after it`);
    const [last = []] = session().slice(-1);
    const ms = await processorMsOf(async () => {
      const answer = await askGuard(world, auditBody(last.join('\n\n')));
      assert.is(answer.headers.get('x-moderation-cache'), 'hit');
    });
    console.log(`${ms.toFixed(1)} ms of the processor for the last one, when it is known`);
    assert.ok(ms < 5, `${ms} ms`);
    assert.is(first, 5);
    assert.ok(
      rest.every((count) => count <= 2),
      calls.join(' '),
    );
  });
});
