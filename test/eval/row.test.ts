import * as assert from 'uvu/assert';
import { readTable, readText } from '../../src/eval/adapter/files.ts';
import { type EvalRow, jsonRows, tableRows } from '../../src/eval/row.ts';
import { describe, rejection } from '../check.ts';
import { fileOf, gather, stream } from './world.ts';

const json = (...chunks: readonly string[]) => gather(jsonRows(stream(chunks), 'data.jsonl'));
const table = async (content: string | Uint8Array): Promise<EvalRow[]> => {
  const file = fileOf('data.csv', content);
  return gather(tableRows(readTable(file), 'data.csv'));
};
const message = async (promise: Promise<unknown>) => ((await rejection(promise)) as Error).message;
const fieldsOf = (rows: readonly EvalRow[]) => rows.map(({ fields }) => fields);

describe('JSONL', (check) => {
  check('rows survive any cut of the stream, CRLF, blank lines and a missing last line break', async () => {
    const text = '{"a":1}\r\n\n{"a":"x"}\n  \n{"a":3}';
    for (let cut = 0; cut <= text.length; cut++) {
      const rows = await json(text.slice(0, cut), text.slice(cut));
      assert.equal(fieldsOf(rows), [{ a: 1 }, { a: 'x' }, { a: 3 }]);
      assert.equal(
        rows.map(({ line }) => line),
        [1, 3, 5],
      );
    }
  });

  check('line separators within a text do not end a row', async () => {
    assert.equal(fieldsOf(await json('{"a":"x\u2028y\u2029z\u0085"}\n')), [{ a: 'x\u2028y\u2029z\u0085' }]);
  });

  check('what is not a JSON object is refused by its line', async () => {
    assert.is(await message(json('{}\n\n{"a":\n')), 'data.jsonl line 3: expected JSON');
    assert.is(await message(json('{}\n[1]\n')), 'data.jsonl line 2: expected a JSON object');
  });

  check('a byte order mark is dropped and bytes that are no UTF-8 are refused', async () => {
    const marked = fileOf('data.jsonl', '\uFEFF{"a":"é"}\n');
    assert.equal(fieldsOf(await gather(jsonRows(readText(marked), 'data.jsonl'))), [{ a: 'é' }]);
    const latin = fileOf('data.jsonl', Uint8Array.of(0x7b, 0xe9, 0x7d));
    assert.match(await message(gather(readText(latin))), /data\.jsonl: expected text in UTF-8$/);
    assert.match(await message(gather(readText(`${latin}.gone`))), /^Cannot read .+: ENOENT$/);
  });
});

describe('CSV', (check) => {
  check('quoted cells may hold commas, quotes and line breaks, and rows know the line where they begin', async () => {
    const rows = await table('id,prompt,label\r\n1,"a, ""b""\r\nc\nd",safe\r\n\r\n2,e,unsafe\r\n');
    assert.equal(fieldsOf(rows), [
      { id: '1', prompt: 'a, "b"\r\nc\nd', label: 'safe' },
      { id: '2', prompt: 'e', label: 'unsafe' },
    ]);
    assert.equal(
      rows.map(({ where }) => where),
      ['data.csv line 2', 'data.csv line 6'],
    );
  });

  check('a byte order mark, blanks in the header and line breaks of any kind are taken', async () => {
    assert.equal(fieldsOf(await table('\uFEFFid, text \n1,a\r\n2,b')), [
      { id: '1', text: 'a' },
      { id: '2', text: 'b' },
    ]);
  });

  check('a column without a name is dropped, as index columns have none', async () => {
    assert.equal(fieldsOf(await table(',text\n0,a\n')), [{ text: 'a' }]);
  });

  check('a row with too few or too many cells is refused by its line', async () => {
    assert.is(
      await message(table('id,text\n1,"a\nb"\n2\n')),
      'data.csv line 4: expected 2 cells, as in the header, found 1',
    );
    assert.is(await message(table('id,text\n1,a,b\n')), 'data.csv line 2: expected 2 cells, as in the header, found 3');
  });

  check('broken quoting is refused by the line where its row begins, and the text is not quoted', async () => {
    for (const row of ['2,"private" words', '2,private"words"', '2,"private\nwords\n']) {
      const outputText = await message(table(`id,text\n1,"a\r\nb"\n${row}\n3,c\n`));
      assert.match(outputText, /data\.csv line 4: expected CSV/);
      assert.not.match(outputText, 'private');
    }
  });

  check('two columns of one name are refused', async () => {
    assert.is(await message(table('text,text\na,b\n')), 'data.csv line 1: two columns are named "text"');
  });
});
