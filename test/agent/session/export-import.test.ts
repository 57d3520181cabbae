import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import fc from 'fast-check';
import * as assert from 'uvu/assert';
import type * as v from 'valibot';
import { openSqliteReader } from '../../../src/adapter/sqlite/reader.ts';
import { openSqliteStore } from '../../../src/adapter/sqlite/store.ts';
import type { Ids } from '../../../src/agent/protocol/ids.ts';
import type { StoredMessage, StoredPart, StoredSession } from '../../../src/agent/protocol/stored-schemas.ts';
import type { Message, Part, Session } from '../../../src/agent/protocol/types.ts';

import {
  readSessionDocument,
  type SessionDocument,
  SessionDocumentError,
} from '../../../src/agent/session/document.ts';
import { exportSession, type SessionSource } from '../../../src/agent/session/export.ts';
import { importSession } from '../../../src/agent/session/import.ts';

import type { Store } from '../../../src/agent/store/store.ts';
import { ConfigError } from '../../../src/core/config.ts';
import { describe, rejection, thorough } from '../../check.ts';
import { anySessions, type KeptSession, linesOf } from '../harness/any-session.ts';
import { createMemoryStore } from '../store/memory-store.ts';
import { answer, idsFrom, sessionOf, textPart, toolPart, userMessage } from '../store/samples.ts';

// What a store may hold, a document may hold, and the other way round.
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : never) : never;
const SAME: readonly [
  Same<Session, v.InferOutput<typeof StoredSession>>,
  Same<Message, v.InferOutput<typeof StoredMessage>>,
  Same<Part, v.InferOutput<typeof StoredPart>>,
] = [true, true, true];

const asIs = { hasNewIDs: false };
const asCopy = { hasNewIDs: true };
const LATER = Date.UTC(2026, 3, 1);

type Kind = { readonly name: string; readonly open: (ids: Ids) => Promise<Store>; readonly runs: number };
const directory = mkdtempSync(join(tmpdir(), 'export-'));
process.on('exit', () => rmSync(directory, { recursive: true, force: true }));
let files = 0;
const newFile = (): string => {
  files += 1;
  return join(directory, `${files}.db`);
};
const KINDS: readonly Kind[] = [
  { name: 'memory', open: async (ids) => createMemoryStore({ ids }), runs: thorough(60, 1000) },
  { name: 'SQLite', open: (ids) => openSqliteStore({ file: newFile(), ids }), runs: thorough(10, 60) },
];

type Line = Record<string, unknown>;
const parsed = (lines: readonly string[]): readonly Line[] => lines.map((line) => JSON.parse(line));

const idOf = ([first]: readonly KeptSession[]): string => first?.info.id ?? '';
const collected = async <T>(items: AsyncIterable<T>): Promise<readonly T[]> => {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
};
const exported = async (source: SessionSource, id: string): Promise<readonly string[]> => {
  const lines = await exportSession(source, id);
  if (lines === undefined) throw new Error('nothing was exported');
  return collected(lines);
};
/** A document as it comes in. */
const sent = (lines: readonly string[]): Promise<SessionDocument> =>
  readSessionDocument(
    (async function* () {
      yield* lines;
    })(),
  );
const recordsIn = async (lines: readonly string[]) => (await collected((await sent(lines)).records)).flat();
const idsIn = (text: string): readonly string[] => [...new Set(text.match(/\b(?:ses|msg|prt)_[0-9a-f]{12}\w{14}\b/g))];
/**
 * The document with each id as its place: among those of its kind, or for a part where it first stands, which is in the
 * order of the ids of its message. All that is left of ids is order and reference.
 */
const masked = (lines: readonly string[]): string => {
  const text = lines.join('\n');
  const found = idsIn(text);
  const parts = found.filter((id) => id.startsWith('prt_'));
  const others = found.filter((id) => !id.startsWith('prt_')).toSorted();
  return [...parts, ...others].reduce(
    (left, id, place) => left.replaceAll(id, `${id.slice(0, 3)}#${String(place).padStart(4, '0')}`),
    text,
  );
};
const errorsAbout = async (lines: readonly string[]): Promise<readonly string[]> => {
  try {
    await recordsIn(lines);
  } catch (error) {
    if (error instanceof SessionDocumentError) return error.problems;
    throw error;
  }
  return [];
};

/** A session with a call that handed work to a session under it, and the whole output of that call. */
const sample = (): readonly KeptSession[] => {
  const ids = idsFrom();
  const [parent, child] = [ids('session'), ids('session')];
  const [asked, outputText, other] = [ids('message'), ids('message'), ids('message')];
  const [first, second, third] = [ids('part'), ids('part'), ids('part')];
  const task = toolPart({ id: second, messageID: outputText, sessionID: parent });
  return [
    {
      info: sessionOf(parent),
      messages: [
        {
          info: userMessage(asked, parent),
          parts: [textPart({ id: first, messageID: asked, sessionID: parent }, 'a question')],
          outputs: [],
        },
        {
          info: { ...answer(outputText, parent), parentID: asked },
          parts: [
            { ...task, state: { status: 'running', input: {}, metadata: { sessionId: child }, time: { start: 1 } } },
          ],
          outputs: [{ partID: second, text: 'the whole output' }],
        },
      ],
    },
    {
      info: sessionOf(child, { parentID: parent }),
      messages: [
        {
          info: userMessage(other, child),
          parts: [textPart({ id: third, messageID: other, sessionID: child }, 'do it')],
          outputs: [],
        },
      ],
    },
  ];
};

for (const { name, open, runs } of KINDS) {
  describe(`sessions of a store in ${name}`, (check) => {
    const withStores = async (body: (from: Store, to: Store) => Promise<void>): Promise<void> => {
      const [from, to] = [await open(idsFrom()), await open(idsFrom(LATER))];
      try {
        await body(from, to);
      } finally {
        await from.close();
        await to.close();
      }
    };
    const importing = async (store: Store, lines: readonly string[], how = asIs): Promise<string> =>
      importSession({ store, ids: idsFrom(LATER) }, await sent(lines), how);
    const eventTypes = async (store: Store) =>
      (await store.events({ afterID: '', limit: 100 })).map(({ event }) => event.type);

    check('come back from a document as they were, whatever they hold', () =>
      fc.assert(
        fc.asyncProperty(anySessions(idsFrom()), (given) =>
          withStores(async (from, to) => {
            assert.is(await importing(from, linesOf(given)), idOf(given));
            const lines = await exported(from, idOf(given));
            assert.is(masked(lines).length, masked(linesOf(given)).length);
            assert.is(await importing(to, lines), idOf(given));
            assert.equal(await exported(to, idOf(given)), lines);
            for (const { info, messages } of given) {
              assert.is(JSON.stringify(await to.session(info.id)), JSON.stringify(info));
              const reported = messages.map((message) => ({ info: message.info, parts: message.parts }));
              assert.is(JSON.stringify(await to.messages(info.id)), JSON.stringify(reported));
            }
          }),
        ),
        { numRuns: runs },
      ),
    );

    check('become a copy under new ids beside themselves, with the same order and the same references', () =>
      fc.assert(
        fc.asyncProperty(anySessions(idsFrom()), (given) =>
          withStores(async (store) => {
            await importing(store, linesOf(given));
            const lines = await exported(store, idOf(given));
            const copied = await exported(store, await importing(store, lines, asCopy));
            assert.is(masked(copied), masked(lines));
            const old = idsIn(lines.join('\n'));
            assert.equal(
              idsIn(copied.join('\n')).filter((id) => old.includes(id)),
              [],
            );
            assert.equal(await exported(store, idOf(given)), lines);
          }),
        ),
        { numRuns: runs },
      ),
    );

    check('are reported as made once they are whole, and keep answers that were never completed', () =>
      withStores(async (store) => {
        const given = sample();
        await importing(store, linesOf(given));
        const events = (await store.events({ afterID: '', limit: 100 })).map(({ event }) => event);
        assert.equal(
          events.map(({ type, properties }) => [type, 'info' in properties && properties.info]),
          given.map(({ info }) => ['session.created', info]),
        );
        const unfinished = (await store.unfinished()).map(({ info }) => info.id);
        assert.equal(unfinished, [given[0]?.messages[1]?.info.id]);
      }),
    );

    check('keep that an answer is owed, but as one that was begun: the first server may give it', () =>
      withStores(async (store) => {
        const given = sample();
        const prompt = given[0]?.messages[0]?.info;
        await importing(store, linesOf(given));
        const [sessionID, promptID] = [prompt?.sessionID ?? '', prompt?.id ?? ''];
        await store.commit([{ kind: 'answer', sessionID, promptID, state: 'owed' }], []);
        const document = await exported(store, sessionID);
        await store.commit(
          given.map(({ info }) => ({ kind: 'session-removed', sessionID: info.id })),
          [],
        );
        await importing(store, document);
        assert.equal(await store.owed(), [{ sessionID, promptID, isBegun: true }]);
        assert.equal(await exported(store, sessionID), document);
      }),
    );

    check('are shown to no one before they are whole, and are kept in small commits', () =>
      withStores(async (store) => {
        const [first, second] = sample();
        if (first === undefined || second === undefined) throw new Error('the sample is too small');
        const place = { messageID: second.messages[0]?.info.id ?? '', sessionID: second.info.id };
        const ids = idsFrom(LATER + 1);
        const parts = Array.from({ length: 30 }, () => textPart({ id: ids('part'), ...place }, 'x'.repeat(200_000)));
        const [message] = second.messages;
        if (message === undefined) throw new Error('the sample is too small');
        const given = [first, { ...second, messages: [{ ...message, parts }] }];
        const commits: { readonly chars: number; readonly shown: number }[] = [];
        const watched: Store = {
          ...store,
          async commit(changes, events) {
            commits.push({ chars: JSON.stringify(changes).length, shown: (await store.sessions({})).length });
            assert.equal(await store.unfinished(), []);
            return store.commit(changes, events);
          },
        };
        await importing(watched, linesOf(given));
        assert.ok(commits.length >= 6, `${commits.length} commits`);
        for (const { chars, shown } of commits) {
          assert.ok(chars < 1_500_000, `${chars} characters at once`);
          assert.is(shown, 0);
        }
        assert.is((await store.sessions({})).length, 2);
        assert.equal(await exported(store, idOf(given)), linesOf(given));
        // Of one that fails in the middle nothing is left, where nobody would find it either.
        const copy = await rejection(importing(store, linesOf(given).slice(0, -1), asCopy));
        assert.match(String(copy), 'cut off');
        await store.commit([{ kind: 'session-removed', sessionID: second.info.id }], []);
        await store.commit([{ kind: 'session-removed', sessionID: first.info.id }], []);
        commits.length = 0;
        await rejection(importing(watched, linesOf(given).slice(0, -1)));
        assert.ok(commits.length >= 6, `${commits.length} commits`);
        assert.equal(await store.messageOutlines(second.info.id), []);
      }),
    );

    check('are refused when their ids are there, and nothing is changed by that', () =>
      withStores(async (store) => {
        const given = sample();
        await importing(store, linesOf(given));
        const changed = given.map((kept) => ({ ...kept, messages: [] }));
        const error = await rejection(importing(store, linesOf(changed)));
        assert.instance(error, SessionDocumentError);
        assert.match(String(error), 'sessions[0]: its id is taken');
        assert.match(String(error), 'sessions[1]: its id is taken');
        assert.equal(await exported(store, idOf(given)), linesOf(given));
      }),
    );

    check('that somebody else makes in the meantime are left as they are', () =>
      withStores(async (store) => {
        const given = sample();
        const other = { kind: 'session', session: sessionOf(given[1]?.info.id ?? '', { title: 'made' }) } as const;
        const late: Store = {
          ...store,
          async commit(changes, events) {
            await store.commit([other], []);
            return store.commit(changes, events);
          },
        };
        const error = await rejection(importing(late, linesOf(given)));
        assert.match(String(error), 'the id of a session in it is taken');
        assert.equal(await store.sessions({}), [other.session]);
      }),
    );

    check('leave nothing behind when only a message of the last of them has an id that is taken', () =>
      withStores(async (store) => {
        const given = sample();
        const other = idsFrom(LATER + 1)('session');
        const taken = given[1]?.messages[0]?.info.id ?? '';
        await store.commit(
          [
            { kind: 'session', session: sessionOf(other) },
            { kind: 'message', message: userMessage(taken, other) },
          ],
          [],
        );
        const error = await rejection(importing(store, linesOf(given)));
        assert.match(String(error), 'the id of a message in it is taken');
        assert.equal(
          (await store.sessions({})).map(({ id }) => id),
          [other],
        );
        assert.equal(await eventTypes(store), []);
        assert.is.not(await importing(store, linesOf(given), asCopy), idOf(given));
      }),
    );

    check('leave nothing behind when the document is cut off or wrong anywhere', () =>
      withStores(async (store) => {
        const lines = linesOf(sample());
        for (let count = 0; count < lines.length; count++) {
          for (const rest of [[], ['{}'], ['{"kind":']]) {
            assert.instance(
              await rejection(importing(store, [...lines.slice(0, count), ...rest])),
              SessionDocumentError,
            );
            assert.equal(await store.sessions({}), []);
          }
        }
        assert.equal(await eventTypes(store), []);
        await importing(store, lines);
        assert.equal(await exported(store, idOf(sample())), lines);
      }),
    );

    check('keep a parent outside the document when the store holds it, and are without one otherwise', () =>
      withStores(async (from, to) => {
        const [parent, child] = sample();
        if (parent === undefined || child === undefined) throw new Error('the sample is too small');
        await importing(from, linesOf([parent, child]));
        const alone = await exported(from, child.info.id);
        assert.equal(parsed(alone)[1], { kind: 'session', session: child.info });
        const copy = await from.session(await importing(from, alone, asCopy));
        assert.is(copy?.parentID, parent.info.id);
        await importing(to, alone);
        assert.not.ok('parentID' in ((await to.session(child.info.id)) ?? {}));
      }),
    );

    check('that are each the parent of the other are exported once each, and not imported', () =>
      withStores(async (store) => {
        const ids = idsFrom();
        const [left, right] = [ids('session'), ids('session')];
        const loop = [sessionOf(left, { parentID: right }), sessionOf(right, { parentID: left })];
        await store.commit(
          loop.map((session) => ({ kind: 'session', session })),
          [],
        );
        const lines = await exported(store, left);
        assert.is(parsed(lines).filter(({ kind }) => kind === 'session').length, 2);
        assert.equal(await errorsAbout(lines), ['line 2: session.parentID: expected a session outside the document']);
      }),
    );

    check('cannot be exported when they are not there, or only begun', () =>
      withStores(async (store) => {
        const id = idsFrom()('session');
        assert.is(await exportSession(store, id), undefined);
        assert.is(await exportSession(store, 'constructor'), undefined);
        await store.commit([{ kind: 'session-begun', session: sessionOf(id) }], []);
        assert.is(await exportSession(store, id), undefined);
      }),
    );

    check('that are removed while they are exported make no whole document', () =>
      withStores(async (store) => {
        const given = sample();
        await importing(store, linesOf(given));
        const lines: string[] = [];
        const reading = (async () => {
          for await (const line of (await exportSession(store, idOf(given))) ?? []) {
            lines.push(line);
            if (lines.length === 3)
              await store.commit([{ kind: 'session-removed', sessionID: given[1]?.info.id ?? '' }], []);
          }
        })();
        assert.match(String(await rejection(reading)), 'something of it was removed meanwhile');
        assert.match(String(await errorsAbout(lines)), 'cut off');
      }),
    );
  });
}

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
      'a file of the server',
      changed(QUESTION, ['part'], as({ ...file, url: 'file:///etc/passwd' })),
      'line 4: part.url: expected a data: URL',
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
    assert.is(SAME.length, 3);
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

describe('a reader of a SQLite file', (check) => {
  check('sees what the store holds while the store goes on, and holds nothing itself', async () => {
    const file = newFile();
    const store = await openSqliteStore({ file, ids: idsFrom() });
    const given = sample();
    await importSession({ store, ids: idsFrom(LATER) }, await sent(linesOf(given)), asIs);
    const reader = await openSqliteReader(file);
    try {
      assert.equal(await exported(reader, idOf(given)), linesOf(given));
      const reading = await exportSession(reader, idOf(given));
      const iterator = reading?.[Symbol.asyncIterator]();
      for (let count = 0; count < 4; count++) await iterator?.next();
      // Whatever was written can be put away now, which is to say: nobody reads at an earlier moment.
      await store.commit([{ kind: 'session', session: sessionOf(idsFrom(LATER + 1)('session')) }], []);
      const database = new DatabaseSync(file);
      assert.is(database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()?.busy, 0);
      database.close();
      await store.commit([{ kind: 'session-removed', sessionID: idOf(given) }], []);
      assert.is(await reader.session(idOf(given)), undefined);
    } finally {
      reader.close();
      await store.close();
    }
  });

  check('is not made of a file that is not there, is none of ours or is of another version', async () => {
    const missing = newFile();
    const noFile = `AGENT_DATABASE_URL: no file ${missing}: run this where the server runs, or set the variable as it is there`;
    const problem = async (file: string): Promise<string> => {
      const error = await rejection(openSqliteReader(file));
      assert.instance(error, ConfigError);
      return String((error as ConfigError).problems[0]);
    };
    assert.is(await problem(missing), noFile);
    assert.is(await problem(missing), noFile);
    assert.match(await problem(import.meta.filename), 'expected a SQLite database');
    const { DatabaseSync } = await import('node:sqlite');
    const [foreign, empty, newer] = [newFile(), newFile(), newFile()];
    const strange = new DatabaseSync(foreign);
    strange.exec('CREATE TABLE other (one)');
    strange.close();
    assert.match(await problem(foreign), 'this one belongs to something else');
    new DatabaseSync(empty).close();
    assert.match(await problem(empty), 'expected a database that a server of this release has used');
    await (await openSqliteStore({ file: newer, ids: idsFrom() })).close();
    const raised = new DatabaseSync(newer);
    raised.exec('PRAGMA user_version = 99');
    raised.close();
    assert.match(await problem(newer), 'expected a database that a server of this release has used');
  });
});
