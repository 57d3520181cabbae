import * as assert from 'uvu/assert';
import { waitForEach } from '../../../src/bridge/stream/polled-output.ts';
import { withoutRepeatedBeginning } from '../../../src/bridge/stream/repeated-beginning.ts';
import { describe } from '../../check.ts';
import { createFakeClock } from '../../fake-clock.ts';
import { pollIterable } from '../harness/read-ahead.ts';
import { ended, type Reported, ranTool, reporting, textEvents, thought } from '../harness/recorded-outputs.ts';

const BEGINNING = 'Once upon a time, there';

/** The texts as they come, and the kinds of all other events. */
const restOf = async (beginning: string, ...given: readonly Reported[]): Promise<readonly string[]> => {
  const source = pollIterable(reporting(...given, ended()), createFakeClock());
  const shown: string[] = [];
  for await (const event of waitForEach(withoutRepeatedBeginning(source, beginning)))
    shown.push(event.kind === 'text' ? event.text : event.kind);
  return shown;
};

describe('an answer that goes on from a beginning', (check) => {
  check('is the rest where the model repeats it, however its text is cut', async () => {
    const rest = [' was a king.', 'text-end', 'end'];
    assert.equal(await restOf(BEGINNING, textEvents('a', `${BEGINNING} was a king.`)), rest);
    assert.equal(await restOf(BEGINNING, textEvents('a', '\n', 'Once upon', ' a time, there was a king.')), rest);
    assert.equal(await restOf(BEGINNING, textEvents('a', 'Once upon', ' a time, there', ' was a king.')), rest);
    assert.equal(await restOf(`\n\n${BEGINNING}`, textEvents('a', '\n\n', `${BEGINNING} was a king.`)), rest);
    const letters = [...`${BEGINNING} was`];
    assert.equal((await restOf(BEGINNING, textEvents('a', ...letters))).join(''), ' wastext-endend');
  });

  check('is whole where it repeats nothing, or a part of it', async () => {
    for (const text of [' was a king.', 'Once upon a hill', 'Once upon a time', `"${BEGINNING}"`])
      assert.equal(await restOf(BEGINNING, textEvents('a', text)), [text, 'text-end', 'end'], text);
    assert.equal(await restOf(BEGINNING, textEvents('a', 'Once ', 'more')), ['Once ', 'more', 'text-end', 'end']);
  });

  check('has its reasoning and calls as they come', async () => {
    const given = [thought('r', 'Hm.'), textEvents('a', 'Once'), ranTool('look'), textEvents('b', BEGINNING)];
    const shown = await restOf(BEGINNING, ...given);
    assert.equal(shown.slice(-3), [BEGINNING, 'text-end', 'end']);
    assert.equal(shown.slice(0, 4), ['reasoning', 'reasoning-end', 'Once', 'text-end']);
  });

  check('may begin with a short beginning once more', async () => {
    assert.equal(await restOf('[', textEvents('a', '["a"]]')), ['["a"]]', 'text-end', 'end']);
  });
});
