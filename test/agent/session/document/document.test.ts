import * as assert from 'uvu/assert';
import { readSessionDocument } from '../../../../src/agent/session/document.ts';
import { describe } from '../../../check.ts';
import { linesOf } from '../../harness/any-session.ts';
import { idsFrom } from '../../store/samples.ts';
import { collected, errorsAbout, LATER, type Line, recordsIn, sample } from './world.ts';

describe('the document of a session', (check) => {
  /** The sample's lines, of which one, by its place, is changed at a path. */
  const changed = (place: number, path: readonly (string | number)[], change: (holder: Line, name: string) => void) => {
    const lines = linesOf(sample());
    const line: unknown = JSON.parse(lines[place] ?? '');
    const [last = '', ...before] = path.toReversed();
    const holder = before.toReversed().reduce((held, step) => (held as Line)[step], line);
    change(holder as Line, String(last));
    return lines.with(place, JSON.stringify(line));
  };
  const as = (value: unknown) => (holder: Line, name: string) => {
    holder[name] = value;
  };
  const without = (holder: Line, name: string) => {
    delete holder[name];
  };
  const moved = (from: number, to: number): readonly string[] => {
    const lines = [...linesOf(sample())];
    lines.splice(to, 0, ...lines.splice(from, 1));
    return lines;
  };
  const withTitle = (title: string): readonly string[] => {
    const [first, ...others] = sample();
    return first === undefined ? [] : linesOf([{ ...first, info: { ...first.info, title } }, ...others]);
  };
  // Contents, session, message, part, message, part, output, session, message, part, end.
  const [CONTENTS, PARENT, ASKED, QUESTION, RECORDED, CALL, OUTPUT, CHILD, OTHER, WORK, END] = Array.from(
    { length: 11 },
    (_, place) => place,
  ) as [number, number, number, number, number, number, number, number, number, number, number];
  const [parent, child] = sample();
  const childID = child?.info.id;
  const otherID = child?.messages[0]?.info.id;
  const file = { ...parent?.messages[0]?.parts[0], text: undefined, type: 'file', mime: 'text/plain' };
  const head = '{"format":"gatehouse-session","version":1,"sessions":[]}';
  const cases: readonly (readonly [string, readonly string[], string])[] = [
    ['nothing', [], 'line 1: expected an object in JSON'],
    ['no JSON', ['{"format":'], 'line 1: expected an object in JSON'],
    ['a list', ['[]'], 'line 1: format: expected a value'],
    ['null', ['null'], 'line 1: expected Object'],
    ['another format', changed(CONTENTS, ['format'], as('other')), 'line 1: format: expected "gatehouse-session"'],
    ['a later version', changed(CONTENTS, ['version'], as(2)), 'line 1: version: expected 1'],
    ['no version', changed(CONTENTS, ['version'], without), 'line 1: version: expected a value'],
    ['no session', [head], 'line 1: sessions: expected at least one session'],
    ['no contents', linesOf(sample()).slice(1), 'line 1: format: expected a value'],
    [
      'one session twice',
      changed(CONTENTS, ['sessions', 1, 'id'], as(parent?.info.id)),
      'line 1: sessions: expected each id once',
    ],
    [
      'one message twice',
      changed(CONTENTS, ['sessions', 0, 'messages', 1], as(otherID)),
      'line 1: messages: expected each id once',
    ],
    ['a line of no kind', changed(PARENT, ['kind'], as('talk')), 'line 2: kind: expected ('],
    [
      'an id of another kind',
      changed(PARENT, ['session', 'id'], as('msg_1')),
      'line 2: session.id: expected an id of a session',
    ],
    ['an unknown name', changed(PARENT, ['session', 'share'], as({})), 'line 2: session.share: expected no such name'],
    [
      'half of a millisecond',
      changed(PARENT, ['session', 'time', 'updated'], as(0.5)),
      'line 2: session.time.updated: expected whole milliseconds',
    ],
    [
      'a time before time',
      changed(PARENT, ['session', 'time', 'updated'], as(-1)),
      'line 2: session.time.updated: expected a time',
    ],
    ['no title', changed(CHILD, ['session', 'title'], without), 'line 8: session.title: expected a value'],
    [
      'a rule of no kind',
      changed(PARENT, ['session', 'permission'], as([{ permission: '*', pattern: '*', action: 'yes' }])),
      'line 2: session.permission[0].action: expected ("allow" | "ask" | "deny")',
    ],
    [
      'metadata that are a list',
      changed(PARENT, ['session', 'metadata'], as([])),
      'line 2: session.metadata: expected an object',
    ],
    [
      'an unknown role',
      changed(RECORDED, ['message', 'role'], as('system')),
      'line 5: message.role: expected ("user" | "assistant")',
    ],
    [
      'an answer of another session',
      changed(RECORDED, ['message', 'sessionID'], as(childID)),
      'line 5: message.sessionID: expected the id of the session that holds it',
    ],
    [
      'a message that the contents do not name',
      changed(RECORDED, ['message', 'id'], as(idsFrom(LATER)('message'))),
      'line 5: message.id: expected the id of the message that comes next in the contents',
    ],
    [
      'messages in another order',
      moved(RECORDED, ASKED),
      'line 3: message.id: expected the id of the message that comes next in the contents',
    ],
    [
      'a session too early',
      moved(CHILD, RECORDED),
      'line 5: kind: expected a message, since the contents name another one',
    ],
    [
      'sessions in another order',
      moved(CHILD, PARENT),
      'line 2: session.id: expected the id of the session that comes next in the contents',
    ],
    [
      'a part before every message',
      moved(QUESTION, PARENT),
      'line 2: part.messageID: expected the id of the message that holds it',
    ],
    [
      'a part of another message',
      changed(QUESTION, ['part', 'messageID'], as(otherID)),
      'line 4: part.messageID: expected the id of the message that holds it',
    ],
    [
      'a part of another session',
      changed(QUESTION, ['part', 'sessionID'], as(childID)),
      'line 4: part.sessionID: expected the id of the session that holds it',
    ],
    [
      'one part twice',
      linesOf(sample()).toSpliced(RECORDED, 0, linesOf(sample())[QUESTION] ?? ''),
      'line 5: part.id: expected an id that no other part of the message has',
    ],
    [
      'a kind of part that is not known',
      changed(CALL, ['part', 'type'], as('snapshot')),
      'line 6: part.type: expected',
    ],
    [
      'a state that is not known',
      changed(CALL, ['part', 'state', 'status'], as('done')),
      'line 6: part.state.status: expected',
    ],
    [
      'a file whose data is cut in the middle',
      changed(
        QUESTION,
        ['part'],
        as({ ...file, url: `data:image/png;base64,${'A'.repeat(9000)}*${'A'.repeat(8999)}` }),
      ),
      'line 4: part.url: expected a data: URL with a media type and sound data',
    ],
    [
      'a file of the server',
      changed(QUESTION, ['part'], as({ ...file, url: 'file:///etc/passwd' })),
      'line 4: part.url: expected a data: URL with a media type and sound data',
    ],
    [
      'the output of a part elsewhere',
      changed(OUTPUT, ['partID'], as(parent?.messages[0]?.parts[0]?.id)),
      'line 7: partID: expected a part of the message before it, each at most once',
    ],
    [
      'the output of one part twice',
      linesOf(sample()).toSpliced(CHILD, 0, linesOf(sample())[OUTPUT] ?? ''),
      'line 8: partID: expected a part of the message before it, each at most once',
    ],
    [
      'a child that is its own parent',
      changed(CHILD, ['session', 'parentID'], as(childID)),
      'line 8: session.parentID: expected a session that stands before it',
    ],
    [
      'a second session without a parent',
      changed(CHILD, ['session', 'parentID'], without),
      'line 8: session.parentID: expected a session that stands before it',
    ],
    [
      'a first session below one of its own',
      changed(PARENT, ['session', 'parentID'], as(childID)),
      'line 2: session.parentID: expected a session outside the document',
    ],
    ['an end too early', moved(END, OTHER), 'line 9: expected all that the contents name before the end'],
    ['something after the end', moved(END, WORK), 'line 11: expected nothing after the end'],
    ['a title that is too long', withTitle('x'.repeat(521)), 'line 2: session.title: expected at most 520 characters'],
    ['a title with a NUL', withTitle('a\0b'), 'line 2: session.title: expected a text without NUL'],
    ['an empty line', linesOf(sample()).toSpliced(2, 0, ''), 'line 3: expected an object in JSON'],
    ['no end', linesOf(sample()).slice(0, END), 'expected more: the document ends before its last line'],
  ];
  check('is refused with a later version for that alone, whatever else is different in it', async () => {
    const later = '{"format":"gatehouse-session","version":2,"talks":[]}';
    assert.equal(await errorsAbout([later]), ['line 1: version: expected 1']);
  });

  for (const [what, given, errorText] of cases) {
    check(`is refused with ${what}, and the error says where`, async () => {
      const errorTexts = await errorsAbout(given);
      assert.is(errorTexts.filter((line) => line.startsWith(errorText)).length, 1, errorTexts.join('\n'));
    });
  }

  check('is read when nothing is wrong with it', async () => {
    const lines = linesOf(sample());
    assert.equal(
      (await recordsIn(lines)).map((record) => JSON.stringify(record)),
      lines.slice(1, END),
    );
    assert.equal(await errorsAbout(lines.map((line) => ` ${line} \r`)), []);
  });

  check(
    'is refused with all that is wrong in a line, but not more than can be read, and never with what it holds',
    async () => {
      const secret = 'canary-5e1f';
      const rules = Array.from({ length: 30 }, () => ({ permission: secret, pattern: 7, action: secret }));
      const errorTexts = await errorsAbout(changed(PARENT, ['session', 'permission'], as(rules)));
      assert.is(errorTexts.length, 11);
      assert.match(errorTexts.at(-1) ?? '', /and \d+ more$/);
      assert.not.match(errorTexts.join('\n'), secret);
      assert.not.match((await errorsAbout([`{"format":"${secret}",}`])).join('\n'), secret);
    },
  );

  check('is closed behind its reader, whatever it comes to', async () => {
    const lines = linesOf(sample());
    for (const given of [lines, lines.slice(0, 4), ['{}'], lines.toSpliced(3, 0, 'x')]) {
      let isClosed = false;
      const source = async function* () {
        try {
          yield* given;
        } finally {
          isClosed = true;
        }
      };
      await readSessionDocument(source())
        .then(({ records }) => collected(records))
        .catch(() => {});
      assert.ok(isClosed);
    }
  });
});
