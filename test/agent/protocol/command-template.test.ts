import * as assert from 'uvu/assert';
import { expandTemplate, placeholdersOf } from '../../../src/agent/protocol/command-template.ts';
import { describe } from '../../check.ts';

describe('the template of a command', (check) => {
  for (const [what, template, given, expected] of [
    ['takes the arguments as a whole', 'Look at $ARGUMENTS now', 'a "b c"', 'Look at a "b c" now'],
    ['is followed by them without a placeholder', 'Look.', 'at this', 'Look.\n\nat this'],
    ['stands alone without either', 'Look.', '  ', 'Look.'],
    [
      'takes them one by one, the last number all that are left',
      '$2 before $1',
      'one two three',
      'two three before one',
    ],
    ['takes what is in quotes as one', '[$1] [$2]', '"a b" \'c d\' e', '[a b] [c d e]'],
    ['keeps the quotes inside of words', '[$1] $2', `don't say "5"" or can't`, `[don't] say "5"" or can't`],
    ['takes the name of a picture as one', '[$1] [$2]', '[Image 1] b', '[[Image 1]] [b]'],
    ['leaves out one that is not given', '[$1] [$2] [$3]', 'a', '[a] [] []'],
    ['repeats one that it names twice', '$1 and $1', 'a b', 'a b and a b'],
    ['keeps what is no placeholder', 'costs $0, $$ and $HOME', '', 'costs $0, $$ and $HOME'],
    [
      'takes no placeholder from the arguments',
      '$1: $ARGUMENTS',
      "$ARGUMENTS $& $'",
      "$ARGUMENTS $& $': $ARGUMENTS $& $'",
    ],
  ] as const)
    check(what, () => assert.is(expandTemplate(template, given), expected));

  check('shows its placeholders in order, each once', () => {
    assert.equal(placeholdersOf('$ARGUMENTS $10 $2 $2 $1'), ['$1', '$2', '$10', '$ARGUMENTS']);
    assert.equal(placeholdersOf('none: $0'), []);
  });

  check('takes 10,000 words apart, and the rest as it is', () => {
    const rest = '"b c"  d';
    assert.is(expandTemplate('$1 $2', `${'a '.repeat(10_000)}${rest} `), `${'a '.repeat(10_000)}${rest}`);
  });
});
