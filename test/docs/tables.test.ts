import * as assert from 'uvu/assert';
import * as v from 'valibot';
import { OneOf, WholeNumber } from '../../src/core/config.ts';
import { describe } from '../check.ts';
import { read } from './pages.ts';
import { meaningsIn, TABLES, takenBy, withTable } from './tables.ts';

const PAGE = `before

| variable | default | takes | meaning |
|---|---|---|---|
| \`LATER\` | \`2\` | 1 to 3 | comes first on the page |
| \`GONE\` | none | text | was taken away |
| \`NAME\` | \`old\` | text | what \`it\` is for, see [there](#there) |

after | not a table
`;
const VARIABLES = {
  NAME: v.optional(OneOf(['one', 'two']), 'one'),
  LATER: v.optional(WholeNumber(1, 9), '5'),
  FRESH: v.string(),
};

describe('a table of variables', (check) => {
  check('is written anew from the schemas, with the meanings and the order that it had', () => {
    assert.is(
      withTable(PAGE, VARIABLES),
      `before

| variable | default | takes | meaning |
|---|---|---|---|
| \`LATER\` | \`5\` | 1 to 9 | comes first on the page |
| \`NAME\` | \`one\` | \`one\`, \`two\` | what \`it\` is for, see [there](#there) |
| \`FRESH\` | required | text |  |

after | not a table
`,
    );
  });
  check('does not change when it is written twice', () => {
    const once = withTable(PAGE, VARIABLES);
    assert.is(withTable(once, VARIABLES), once);
    assert.equal([...meaningsIn(once)].at(-1), ['FRESH', '']);
  });
  check(
    'reports a rule in the words that a wrong value is refused with, and quotes what a page would read otherwise',
    () => {
      const Name = v.pipe(
        v.string(),
        v.check((text: string) => text !== '', 'expected <provider>/<model key>'),
      );
      const Address = v.pipe(
        Name,
        v.check((text: string) => text !== '', 'expected http://host:port, or else'),
        v.check((text: string) => text !== '', 'expected more'),
      );
      assert.is(takenBy(v.optional(Address)), '`<provider>/<model key>`; `http://host:port`, or else');
    },
  );
  check('does not repeat a rule that a narrower one begins with', () => {
    const Address = v.pipe(
      v.string(),
      v.check(() => true, 'expected an address'),
    );
    const Base = v.pipe(
      Address,
      v.check(() => true, 'expected an address, without query'),
    );
    assert.is(takenBy(Base), 'an address, without query');
  });
});

describe('the tables of variables in the docs', (check) => {
  for (const [file, variables] of Object.entries(TABLES)) {
    check(`${file} is as \`npm run docs\` writes it`, () => {
      assert.ok(meaningsIn(read(file)).size > 7);
      assert.is(withTable(read(file), variables), read(file));
    });
    check(`${file} says of every variable what it means`, () => {
      assert.equal(
        [...meaningsIn(read(file))].filter(([, meaning]) => meaning === ''),
        [],
      );
    });
  }
});
