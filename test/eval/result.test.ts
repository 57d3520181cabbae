import * as assert from 'uvu/assert';
import { formatLine, hashOf, parseEarlierResults, type Result } from '../../src/eval/result.ts';
import { describe } from '../check.ts';
import { judgedOf } from './world.ts';

const judged = (hash: string): Result => ({ ...judgedOf({ hate: 0.9 }), id: 'é', hash });
const failed = (hash: string): Result => ({ id: '2', hash, status: 'error', code: 'timeout', ms: 5 });

describe('results of earlier runs', (check) => {
  check('verdicts are found again by hash; errors are not, so they are tried again', () => {
    const { judged: found } = parseEarlierResults(
      formatLine(judged('a')) + formatLine(failed('b')),
      'out',
      'http://gate',
    );
    assert.equal([...found.keys()], ['a']);
    assert.equal(found.get('a'), judged('a'));
  });

  check('a verdict of another gateway is not used', () => {
    const other = { ...judged('b'), gateway: { url: 'http://other', backendModel: 'big-model', policy: '1' } };
    const text = `${formatLine(judged('a'))}${formatLine({ ...other, hash: 'a' })}${formatLine(other)}`;
    const { judged: found, unused } = parseEarlierResults(text, 'out', 'http://gate');
    assert.equal([...found], [['a', judged('a')]]);
    assert.is(unused, 2);
  });

  check('an error after a verdict does not undo the verdict', () => {
    assert.ok(
      parseEarlierResults(formatLine(judged('a')) + formatLine(failed('a')), 'out', 'http://gate').judged.has('a'),
    );
  });

  check('a last line torn anywhere is cut off and the rest is kept', () => {
    const whole = formatLine(judged('a'));
    const last = formatLine(judged('b'));
    for (let cut = 0; cut < last.length; cut++) {
      const { judged: found, wholeBytes } = parseEarlierResults(whole + last.slice(0, cut), 'out', 'http://gate');
      assert.equal([...found.keys()], ['a']);
      assert.is(wholeBytes, Buffer.byteLength(whole));
    }
  });

  check('a file that holds anything else is not touched', () => {
    const wants = (text: string, line: number) =>
      assert.throws(
        () => parseEarlierResults(text, 'out', 'http://gate'),
        `out line ${line}: expected a result of an earlier run`,
      );
    wants('{"text":"a row of the data"}\n', 1);
    wants(`${formatLine(judged('a'))}notes\n`, 2);
    wants('notes without a line break', 1);
    wants(`${formatLine(judged('a')).slice(0, 60)}\n`, 1);
  });

  check('a hash stands for text and model together', async () => {
    const hash = await hashOf('text', 'model');
    assert.match(hash, /^[0-9a-f]{32}$/);
    assert.is(await hashOf('text', 'model'), hash);
    assert.is.not(await hashOf('texT', 'model'), hash);
    assert.is.not(await hashOf('text', 'other'), hash);
  });
});
