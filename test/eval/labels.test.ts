import * as assert from 'uvu/assert';
import { EVAL_CATEGORIES, labelFor } from '../../src/eval/category.ts';
import { parseLabelChoices } from '../../src/eval/choice.ts';
import { type Fields, parseItem } from '../../src/eval/labels.ts';
import { CATEGORY_NAMES } from '../../src/gateway/policy/categories.ts';
import { describe } from '../check.ts';

type Cells = Record<string, unknown>;

const read = (fields: Cells, how: Fields = {}, isTable = false) =>
  parseItem({ where: 'data line 7', line: 7, fields: { text: 'words', ...fields }, isTable }, how);
const known = (fields: Cells, labels?: string, isTable = false) =>
  Object.fromEntries(
    read(fields, labels === undefined ? {} : { choices: parseLabelChoices(labels.split(',')) }, isTable).known,
  );
const errorText = (action: () => unknown): string => {
  try {
    action();
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error('nothing was thrown');
};

describe('label names', (check) => {
  check('the categories are those the gateway judges, in its order', () => {
    assert.equal([...EVAL_CATEGORIES], [...CATEGORY_NAMES]);
  });

  check('the short names of the set of 2022 stand for their categories', () => {
    assert.equal(['S', 'H', 'V', 'HR', 'SH', 'S3', 'H2', 'V2'].map(labelFor), [
      'sexual',
      'hate',
      'violence',
      'harassment',
      'self-harm',
      'sexual/minors',
      'hate/threatening',
      'violence/graphic',
    ]);
    assert.is(labelFor('s'), undefined);
  });

  check('spelling with underscores, blanks and capitals is understood', () => {
    assert.is(labelFor('Self_Harm_Intent'), 'self-harm/intent');
    assert.is(labelFor(' sexual minors'), 'sexual/minors');
  });
});

describe('labels of a row', (check) => {
  check('an object of labels is read, and the whole follows from it', () => {
    assert.equal(known({ labels: { hate: 1, violence: 0 } }), { hate: true, violence: false, flagged: true });
    assert.equal(known({ categories: { hate: false, sexual: 'false' } }), {
      hate: false,
      sexual: false,
      flagged: false,
    });
  });

  check('a list names the positive ones, and every other category is negative', () => {
    const labels = known({ categories: ['hate', 'V'] });
    assert.is(Object.keys(labels).length, 14);
    assert.equal([labels.hate, labels.violence, labels.sexual, labels.flagged], [true, true, false, true]);
    assert.is(known({ labels: [] }).flagged, false);
  });

  check('fields named after categories are labels', () => {
    assert.equal(known({ hate: '1', self_harm: '0', year: '2022' }), { hate: true, 'self-harm': false, flagged: true });
  });

  check('a label that is missing, empty or null is unknown, never negative', () => {
    const item = read({ text: undefined, prompt: 'words', S: 0, H: null, V: '' });
    assert.equal(Object.fromEntries(item.known), { sexual: false, flagged: false });
    assert.is(item.text, 'words');
    assert.equal(known({ labels: { hate: null } }), {});
    assert.equal(known({ year: 2022 }), {});
  });

  check('an overall label says only the whole', () => {
    assert.equal(known({ label: 'unsafe', type: 'homonyms' }), { flagged: true });
    assert.equal(known({ label: 'safe' }), { flagged: false });
    assert.equal(known({ flagged: false }), { flagged: false });
  });

  check('an overall label is believed over the categories', () => {
    assert.equal(known({ flagged: 1, hate: 0 }), { flagged: true, hate: false });
    assert.equal(known({ flagged: 0, hate: 1 }), { flagged: false, hate: true });
  });

  check('a list of true labels is not mixed with categories that a model put beside it', () => {
    assert.equal(known({ labels: { hate: 0 }, categories: { violence: true } }), { hate: false, flagged: false });
  });

  check('chosen labels leave all others out', () => {
    assert.equal(known({ labels: { hate: 1, violence: 0, spam: 1 } }, 'violence'), { violence: false, flagged: false });
    assert.equal(known({ hate: 1, violence: 0, label: 'nonsense' }, 'violence'), { violence: false, flagged: false });
  });

  check('a field of another name can be made a label', () => {
    assert.equal(known({ toxicity: 1, label: 'nonsense' }, 'toxicity=flagged'), { flagged: true });
    assert.equal(known({ slurs: 1, violence: 0 }, 'slurs=hate,violence'), {
      hate: true,
      violence: false,
      flagged: true,
    });
    assert.equal(known({ labels: { hate: 1 }, flagged: 0 }, 'labels'), { hate: true, flagged: true });
  });

  check('a value that is no truth is refused with line and field, and not quoted', () => {
    const message = errorText(() => known({ hate: 'private words' }));
    assert.match(message, /^data line 7, field "hate": expected true, false, 0, 1, safe or unsafe/);
    assert.not.match(message, 'private');
    assert.match(
      errorText(() => known({ labels: { hate: 0.3 } })),
      'field "labels", label "hate": expected',
    );
    assert.match(
      errorText(() => known({ hate: 2 })),
      'expected',
    );
    assert.match(
      errorText(() => known({ labels: 'hate' })),
      'expected an object of labels or a list',
    );
  });

  check('an unknown label is refused with the nearest known one', () => {
    assert.is(
      errorText(() => known({ labels: { violense: 1 } })),
      'data line 7, field "labels": unknown label "violense", the nearest known is "violence"',
    );
    assert.is(
      errorText(() => parseLabelChoices(['hatee'])),
      '--labels: unknown label "hatee", the nearest known is "hate"',
    );
    assert.match(
      errorText(() => parseLabelChoices(['column=sexul'])),
      'the nearest known is "sexual"',
    );
  });

  check('a table without a chosen column is refused; a JSON row without it is unknown', () => {
    assert.match(
      errorText(() => known({ hate: '1' }, 'violence', true)),
      'data line 7: expected a column for the label "violence"',
    );
    assert.match(
      errorText(() => known({ hate: '1' }, 'slurs=hate', true)),
      'data line 7: expected a column "slurs"',
    );
    assert.equal(known({ hate: 1 }, 'violence'), {});
    assert.equal(known({ violence: '' }, 'violence', true), {});
  });
});

describe('text and id of a row', (check) => {
  check('the text is in text, else in prompt, unless a field is named', () => {
    assert.is(read({ prompt: 'other' }).text, 'words');
    assert.is(read({ text: undefined, prompt: 'other' }).text, 'other');
    assert.is(read({ body: 'third' }, { textField: 'body' }).text, 'third');
  });

  check('a row without text is refused with the fields it has', () => {
    assert.is(
      errorText(() => read({ text: 5, body: 'x' })),
      'data line 7: expected text in the field "text" or "prompt" (--text-field), found "text", "body"',
    );
    assert.match(
      errorText(() => read({}, { textField: 'body' })),
      'expected text in the field "body"',
    );
  });

  check('the id is a field, else the line number', () => {
    assert.is(read({ id: 12 }).id, '12');
    assert.is(read({}).id, '7');
    assert.is(read({ key: 'a' }, { idField: 'key' }).id, 'a');
    assert.is(read({ group: 'news' }).group, 'news');
    assert.is(read({ kind: 'code' }, { groupField: 'kind' }).group, 'code');
    assert.is(read({ group: 7 }).group, undefined);
    assert.match(
      errorText(() => read({}, { groupField: 'text' })),
      '--group-field: expected another field',
    );
    assert.match(
      errorText(() => read({}, { idField: 'key' })),
      'expected text or a number in the field "key"',
    );
  });

  check('the text cannot be the id, which is kept', () => {
    assert.match(
      errorText(() => read({}, { idField: 'text' })),
      '--id-field: expected another field',
    );
  });

  check('the text field is never taken for a label', () => {
    assert.equal(read({ hate: 'some text', violence: 0 }, { textField: 'hate' }).known.has('hate'), false);
  });
});
