import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import * as assert from 'uvu/assert';
import type * as v from 'valibot';
import { openSqliteSnapshot } from '../../src/adapter/sqlite-snapshot.ts';
import { openSqliteStore } from '../../src/adapter/sqlite-store.ts';
import { exportSession } from '../../src/agent/export-session.ts';
import type { Ids } from '../../src/agent/ids.ts';
import { importSession } from '../../src/agent/import-session.ts';
import { createMemoryStore } from '../../src/agent/memory-store.ts';
import type { Message } from '../../src/agent/message.ts';
import type { Part } from '../../src/agent/part.ts';
import type { Session } from '../../src/agent/session.ts';
import { readSessionDocument, type SessionDocument } from '../../src/agent/session-document.ts';
import { SessionProblem } from '../../src/agent/session-problem.ts';
import type { Store } from '../../src/agent/store.ts';
import type { StoredMessage, StoredPart, StoredSession } from '../../src/agent/stored-schema.ts';
import { ConfigError } from '../../src/core/config.ts';
import { describe, rejection } from '../check.ts';
import { createFakeClock } from '../fake-clock.ts';
import { anyDocument } from './any-session.ts';
import { answer, idsFrom, sessionOf, textPart, toolPart, userMessage } from './store-samples.ts';

// What a store may hold, a document may hold, and the other way round.
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : never) : never;
const SAME: readonly [
  Same<Session, v.InferOutput<typeof StoredSession>>,
  Same<Message, v.InferOutput<typeof StoredMessage>>,
  Same<Part, v.InferOutput<typeof StoredPart>>,
] = [true, true, true];

const clock = createFakeClock();
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
  { name: 'memory', open: async (ids) => createMemoryStore({ ids }), runs: 150 },
  { name: 'SQLite', open: (ids) => openSqliteStore({ file: newFile(), ids }), runs: 15 },
];

const idOf = ({ sessions }: SessionDocument): string => sessions[0]?.info.id ?? '';
const firstOf = (document: SessionDocument): Session => {
  const [first] = document.sessions;
  if (first === undefined) throw new Error('the document holds no session');
  return first.info;
};
const exported = async (store: Store, id: string): Promise<SessionDocument> => {
  const document = await exportSession(store, id);
  if (document === undefined) throw new Error('nothing was exported');
  return document;
};
/** As it is on its way from one place to another. */
const sent = (document: unknown): SessionDocument => readSessionDocument(JSON.stringify(document));
const idsIn = (text: string): readonly string[] => [...new Set(text.match(/\b(?:ses|msg|prt)_[0-9a-f]{12}\w{14}\b/g))];
/** The document with each id as its place among those of its kind: all that is left of ids is order and reference. */
const masked = (document: SessionDocument): string => {
  const text = JSON.stringify(document);
  return idsIn(text)
    .toSorted()
    .reduce((left, id, place) => left.replaceAll(id, `${id.slice(0, 3)}#${place}`), text);
};
const complaintsAbout = (given: unknown): readonly string[] => {
  try {
    readSessionDocument(typeof given === 'string' ? given : JSON.stringify(given));
  } catch (error) {
    if (error instanceof SessionProblem) return error.problems;
    throw error;
  }
  return [];
};

/** A session with a call that handed work to a session under it, and the whole output of that call. */
const sample = (): SessionDocument => {
  const ids = idsFrom();
  const [parent, child] = [ids('session'), ids('session')];
  const [asked, said, other] = [ids('message'), ids('message'), ids('message')];
  const [first, second, third] = [ids('part'), ids('part'), ids('part')];
  const task = toolPart({ id: second, messageID: said, sessionID: parent });
  return {
    format: 'gatehouse-session',
    version: 1,
    sessions: [
      {
        info: sessionOf(parent),
        messages: [
          {
            info: userMessage(asked, parent),
            parts: [textPart({ id: first, messageID: asked, sessionID: parent }, 'a question')],
            outputs: [],
          },
          {
            info: { ...answer(said, parent), parentID: asked },
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
    ],
  };
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
    const importing = (store: Store) => ({ store, ids: idsFrom(LATER), clock });

    check('come back from a document as they were, whatever they hold', () =>
      fc.assert(
        fc.asyncProperty(anyDocument(idsFrom()), (given) =>
          withStores(async (from, to) => {
            assert.is(await importSession(importing(from), given, asIs), idOf(given));
            const document = await exported(from, idOf(given));
            assert.is(masked(document).length, masked(given).length);
            assert.is(await importSession(importing(to), sent(document), asIs), idOf(given));
            assert.is(JSON.stringify(await exported(to, idOf(given))), JSON.stringify(document));
            for (const { info, messages } of given.sessions) {
              assert.is(JSON.stringify(await to.session(info.id)), JSON.stringify(info));
              const told = messages.map((message) => ({ info: message.info, parts: message.parts }));
              assert.is(JSON.stringify(await to.messages(info.id)), JSON.stringify(told));
            }
          }),
        ),
        { numRuns: runs },
      ),
    );

    check('become a copy under new ids beside themselves, with the same order and the same references', () =>
      fc.assert(
        fc.asyncProperty(anyDocument(idsFrom()), (given) =>
          withStores(async (store) => {
            await importSession(importing(store), given, asIs);
            const document = await exported(store, idOf(given));
            const copied = await exported(store, await importSession(importing(store), sent(document), asCopy));
            assert.is(masked(copied), masked(document));
            const old = idsIn(JSON.stringify(document));
            assert.equal(
              idsIn(JSON.stringify(copied)).filter((id) => old.includes(id)),
              [],
            );
            assert.is(JSON.stringify(await exported(store, idOf(given))), JSON.stringify(document));
          }),
        ),
        { numRuns: runs },
      ),
    );

    check('are told as made, with all that is in them, and keep answers that were never completed', () =>
      withStores(async (store) => {
        const document = sample();
        await importSession(importing(store), document, asIs);
        const events = (await store.events({ afterID: '', limit: 100 })).map(({ event }) => event.type);
        assert.equal(events, [
          'session.created',
          'message.updated',
          'message.part.updated',
          'message.updated',
          'message.part.updated',
          'session.created',
          'message.updated',
          'message.part.updated',
        ]);
        const unfinished = (await store.unfinished()).map(({ info }) => info.id);
        assert.equal(unfinished, [document.sessions[0]?.messages[1]?.info.id]);
      }),
    );

    check('are refused when their ids are there, and nothing is changed by that', () =>
      withStores(async (store) => {
        const document = sample();
        await importSession(importing(store), document, asIs);
        const changed = { ...document, sessions: document.sessions.map((kept) => ({ ...kept, messages: [] })) };
        const error = await rejection(importSession(importing(store), changed, asIs));
        assert.instance(error, SessionProblem);
        assert.match(String(error), 'sessions[0]: its id is taken');
        assert.match(String(error), 'sessions[1]: its id is taken');
        assert.is(JSON.stringify(await exported(store, idOf(document))), JSON.stringify(document));
      }),
    );

    check('leave nothing behind when only a message of the last of them has an id that is taken', () =>
      withStores(async (store) => {
        const document = sample();
        const other = idsFrom(LATER + 1)('session');
        const taken = document.sessions[1]?.messages[0]?.info.id ?? '';
        await store.commit(
          [
            { kind: 'session', session: sessionOf(other) },
            { kind: 'message', message: userMessage(taken, other) },
          ],
          [],
        );
        const error = await rejection(importSession(importing(store), document, asIs));
        assert.match(String(error), 'sessions[1]: the id of a message in it is taken');
        assert.equal(
          (await store.sessions({})).map(({ id }) => id),
          [other],
        );
        const events = (await store.events({ afterID: '', limit: 100 })).map(({ event }) => event.type);
        assert.equal([events.at(0), events.at(-1)], ['session.created', 'session.deleted']);
        assert.is.not(await importSession(importing(store), document, asCopy), idOf(document));
      }),
    );

    check('keep a parent outside the document when the store holds it, and are without one otherwise', () =>
      withStores(async (from, to) => {
        const { sessions, ...more } = sample();
        const [parent, child] = sessions;
        if (parent === undefined || child === undefined) throw new Error('the sample is too small');
        await importSession(importing(from), { ...more, sessions }, asIs);
        const alone = await exported(from, child.info.id);
        assert.equal([alone.sessions.length, firstOf(alone).parentID], [1, parent.info.id]);
        const copied = await exported(from, await importSession(importing(from), alone, asCopy));
        assert.is(firstOf(copied).parentID, parent.info.id);
        await importSession(importing(to), alone, asIs);
        assert.not.ok('parentID' in firstOf(await exported(to, child.info.id)));
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
        const document = await exported(store, left);
        assert.is(document.sessions.length, 2);
        assert.equal(complaintsAbout(document), ['sessions[0].info.parentID: expected a session outside the document']);
      }),
    );

    check('cannot be exported when they are not there', () =>
      withStores(async (store) => {
        assert.is(await exportSession(store, idsFrom()('session')), undefined);
        assert.is(await exportSession(store, 'constructor'), undefined);
      }),
    );
  });
}

describe('the document of a session', (check) => {
  type Loose = Record<string, unknown>;
  /** The sample, changed at a place. */
  const changed = (places: readonly (string | number)[], change: (holder: Loose, name: string) => void): unknown => {
    const document: unknown = JSON.parse(JSON.stringify(sample()));
    const [last = '', ...before] = places.toReversed();
    const holder = before.toReversed().reduce((held, place) => (held as Loose)[place], document);
    change(holder as Loose, String(last));
    return document;
  };
  const as = (value: unknown) => (holder: Loose, name: string) => {
    holder[name] = value;
  };
  const without = (holder: Loose, name: string) => {
    delete holder[name];
  };
  const message = ['sessions', 0, 'messages', 1] as const;
  const cases: readonly (readonly [string, unknown, string])[] = [
    ['no JSON', '{"format":', 'expected a document in JSON'],
    ['a list', [], 'format: expected a value'],
    ['nothing', 'null', 'expected Object'],
    ['another format', { format: 'other', version: 1 }, 'format: expected "gatehouse-session"'],
    ['a later version', changed(['version'], as(2)), 'version: expected 1'],
    ['no version', changed(['version'], without), 'version: expected a value'],
    ['no session', changed(['sessions'], as([])), 'sessions: expected at least one session'],
    [
      'an id of another kind',
      changed(['sessions', 0, 'info', 'id'], as('msg_1')),
      'sessions[0].info.id: expected an id of a session',
    ],
    [
      'a name that is not known',
      changed(['sessions', 0, 'info', 'share'], as({})),
      'sessions[0].info.share: expected no such name',
    ],
    [
      'half of a millisecond',
      changed(['sessions', 0, 'info', 'time', 'updated'], as(0.5)),
      'sessions[0].info.time.updated: expected whole milliseconds',
    ],
    [
      'a time before time',
      changed(['sessions', 0, 'info', 'time', 'updated'], as(-1)),
      'sessions[0].info.time.updated: expected a time',
    ],
    ['no title', changed(['sessions', 1, 'info', 'title'], without), 'sessions[1].info.title: expected a value'],
    [
      'a rule of no kind',
      changed(['sessions', 0, 'info', 'permission'], as([{ permission: '*', pattern: '*', action: 'yes' }])),
      'sessions[0].info.permission[0].action: expected ("allow" | "ask" | "deny")',
    ],
    [
      'metadata that are a list',
      changed(['sessions', 0, 'info', 'metadata'], as([])),
      'sessions[0].info.metadata: expected an object',
    ],
    [
      'an unknown role',
      changed([...message, 'info', 'role'], as('system')),
      'sessions[0].messages[1].info.role: expected ("user" | "assistant")',
    ],
    [
      'an answer of another session',
      changed([...message, 'info', 'sessionID'], as(sample().sessions[1]?.info.id)),
      'sessions[0].messages[1].info.sessionID: expected the id of the session that holds it',
    ],
    [
      'one message twice',
      changed(['sessions', 0, 'messages', 1, 'info', 'id'], as(sample().sessions[0]?.messages[0]?.info.id)),
      'sessions[0].messages[1].info.id: expected an id that nothing else in the document has',
    ],
    [
      'one part twice',
      changed(['sessions', 1, 'messages', 0, 'parts', 0, 'id'], as(sample().sessions[0]?.messages[0]?.parts[0]?.id)),
      'sessions[1].messages[0].parts[0].id: expected an id that nothing else in the document has',
    ],
    [
      'one session twice',
      changed(['sessions', 1, 'info', 'id'], as(idOf(sample()))),
      'sessions[1].info.id: expected an id that nothing else in the document has',
    ],
    [
      'a part of another message',
      changed(['sessions', 0, 'messages', 0, 'parts', 0, 'messageID'], as(sample().sessions[0]?.messages[1]?.info.id)),
      'sessions[0].messages[0].parts[0].messageID: expected the id of the message that holds it',
    ],
    [
      'a part of another session',
      changed(['sessions', 0, 'messages', 0, 'parts', 0, 'sessionID'], as(sample().sessions[1]?.info.id)),
      'sessions[0].messages[0].parts[0].sessionID: expected the id of the session that holds it',
    ],
    [
      'a kind of part that is not known',
      changed([...message, 'parts', 0, 'type'], as('snapshot')),
      'sessions[0].messages[1].parts[0].type: expected',
    ],
    [
      'a state that is not known',
      changed([...message, 'parts', 0, 'state', 'status'], as('done')),
      'sessions[0].messages[1].parts[0].state.status: expected',
    ],
    [
      'a file of the server',
      changed(
        [...message, 'parts', 0],
        as({
          id: sample().sessions[0]?.messages[1]?.parts[0]?.id,
          sessionID: idOf(sample()),
          messageID: sample().sessions[0]?.messages[1]?.info.id,
          type: 'file',
          mime: 'text/plain',
          url: 'file:///etc/passwd',
        }),
      ),
      'sessions[0].messages[1].parts[0].url: expected a data: URL',
    ],
    [
      'the output of a part elsewhere',
      changed([...message, 'outputs', 0, 'partID'], as(sample().sessions[0]?.messages[0]?.parts[0]?.id)),
      'sessions[0].messages[1].outputs[0].partID: expected a part of this message, each at most once',
    ],
    [
      'a child before its parent',
      changed(['sessions', 1, 'info', 'parentID'], as(sample().sessions[1]?.info.id)),
      'sessions[1].info.parentID: expected a session that stands before it',
    ],
    [
      'a second session without a parent',
      changed(['sessions', 1, 'info', 'parentID'], without),
      'sessions[1].info.parentID: expected a session that stands before it',
    ],
  ];
  check('is refused with a later version for that alone, whatever else is different in it', () => {
    assert.equal(complaintsAbout({ format: 'gatehouse-session', version: 2, talks: [] }), ['version: expected 1']);
  });

  check('is refused with the output of one part twice', () => {
    const twice = changed([...message, 'outputs'], (holder, name) => {
      holder[name] = [holder[name], holder[name]].flat();
    });
    assert.equal(complaintsAbout(twice), [
      'sessions[0].messages[1].outputs[1].partID: expected a part of this message, each at most once',
    ]);
  });

  for (const [what, given, complaint] of cases) {
    check(`is refused with ${what}, and told where`, () => {
      const complaints = complaintsAbout(given);
      assert.is(complaints.filter((line) => line.startsWith(complaint)).length, 1, complaints.join('\n'));
    });
  }

  check('is read when nothing is wrong with it', () => {
    assert.equal(sent(sample()), sample());
    assert.equal(complaintsAbout(`\n${JSON.stringify(sample(), null, 2)}\n`), []);
    assert.is(SAME.length, 3);
  });

  check('is refused with all that is wrong, but not more than can be read, and never with what it holds', () => {
    const document = sample();
    const [first] = document.sessions;
    const secret = 'canary-5e1f';
    const wrong = Array.from({ length: 30 }, () => ({ ...first?.messages[0], info: { role: 'user', id: secret } }));
    const complaints = complaintsAbout({ ...document, sessions: [{ info: first?.info, messages: wrong }] });
    assert.is(complaints.length, 11);
    assert.match(complaints.at(-1) ?? '', /^and \d+ more$/);
    assert.not.match(complaints.join('\n'), secret);
    assert.not.match(complaintsAbout(`{"format":"${secret}",}`).join('\n'), secret);
  });
});

describe('a snapshot of a SQLite file', (check) => {
  check('holds what the store held at one moment, while the store goes on', async () => {
    const file = newFile();
    const store = await openSqliteStore({ file, ids: idsFrom() });
    const document = sample();
    await importSession({ store, ids: idsFrom(LATER), clock }, document, asIs);
    const snapshot = await openSqliteSnapshot(file);
    try {
      assert.equal(await snapshot.session(idOf(document)), firstOf(document));
      await store.commit([{ kind: 'session-removed', sessionID: firstOf(document).id }], []);
      assert.is(await store.session(idOf(document)), undefined);
      assert.equal(await exportSession(snapshot, idOf(document)), document);
    } finally {
      snapshot.close();
      await store.close();
    }
  });

  check('is not made of a file that is not there, is none of ours or is of another version', async () => {
    const missing = newFile();
    const problem = async (file: string): Promise<string> => {
      const error = await rejection(openSqliteSnapshot(file));
      assert.instance(error, ConfigError);
      return String((error as ConfigError).problems[0]);
    };
    assert.is(await problem(missing), 'AGENT_DATABASE_URL: expected a file that is there');
    assert.is(await problem(missing), 'AGENT_DATABASE_URL: expected a file that is there');
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
