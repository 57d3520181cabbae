import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteStore } from '../../../../src/agent/adapter/sqlite/store.ts';
import type { Ids } from '../../../../src/agent/protocol/ids.ts';
import {
  readSessionDocument,
  type SessionDocument,
  SessionDocumentError,
} from '../../../../src/agent/session/document.ts';
import { exportSession, type SessionSource } from '../../../../src/agent/session/export.ts';
import { importSession } from '../../../../src/agent/session/import.ts';
import type { Store } from '../../../../src/agent/store/store.ts';
import type { KeptSession } from '../../harness/any-session.ts';
import { createMemoryStore } from '../../store/memory-store.ts';
import { answer, idsFrom, sessionOf, textPart, toolPart, userMessage } from '../../store/samples.ts';

/** Keeps the ids of the document. */
export const asIs = { hasNewIDs: false };
/** Gives every id anew. */
export const asCopy = { hasNewIDs: true };
/** When the ids of the store that imports begin, in milliseconds. */
export const LATER = Date.UTC(2026, 3, 1);

type Kind = { readonly name: 'memory' | 'SQLite'; readonly open: (ids: Ids) => Promise<Store> };
const directory = mkdtempSync(join(tmpdir(), 'export-'));
process.on('exit', () => rmSync(directory, { recursive: true, force: true }));
let files = 0;
/** A path in a folder of this process where no file is yet. */
export const newFile = (): string => {
  files += 1;
  return join(directory, `${files}.db`);
};
/** The stores to try. */
export const KINDS: readonly Kind[] = [
  { name: 'memory', open: async (ids) => createMemoryStore({ ids }) },
  { name: 'SQLite', open: (ids) => openSqliteStore({ file: newFile(), ids }) },
];

/** One line of a document, parsed. */
export type Line = Record<string, unknown>;
/** The lines of a document, parsed. */
export const parsed = (lines: readonly string[]): readonly Line[] => lines.map((line) => JSON.parse(line));

/** The id of the first session. */
export const idOf = ([first]: readonly KeptSession[]): string => first?.info.id ?? '';
/** All items, once there are no more. */
export const collected = async <T>(items: AsyncIterable<T>): Promise<readonly T[]> => {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
};
/** The lines of the document of a session that is there. */
export const exported = async (source: SessionSource, id: string): Promise<readonly string[]> => {
  const lines = await exportSession(source, id);
  if (lines === undefined) throw new Error('nothing was exported');
  return collected(lines);
};
/** A document as it comes in. */
export const sent = (lines: readonly string[]): Promise<SessionDocument> =>
  readSessionDocument(
    (async function* () {
      yield* lines;
    })(),
  );
/** All that a document holds. */
export const recordsIn = async (lines: readonly string[]) => (await collected((await sent(lines)).records)).flat();
/** Every id in a text, once. */
export const idsIn = (text: string): readonly string[] => [
  ...new Set(text.match(/\b(?:ses|msg|prt)_[0-9a-f]{12}\w{14}\b/g)),
];
/**
 * The document with each id as its place: among those of its kind, or for a part where it first stands, which is in the
 * order of the ids of its message. All that is left of ids is order and reference.
 */
export const masked = (lines: readonly string[]): string => {
  const text = lines.join('\n');
  const found = idsIn(text);
  const parts = found.filter((id) => id.startsWith('prt_'));
  const others = found.filter((id) => !id.startsWith('prt_')).toSorted();
  return [...parts, ...others].reduce(
    (left, id, place) => left.replaceAll(id, `${id.slice(0, 3)}#${String(place).padStart(4, '0')}`),
    text,
  );
};
/** What is wrong with a document, or nothing. */
export const errorsAbout = async (lines: readonly string[]): Promise<readonly string[]> => {
  try {
    await recordsIn(lines);
  } catch (error) {
    if (error instanceof SessionDocumentError) return error.problems;
    throw error;
  }
  return [];
};

/** A session with a call that handed work to a session under it, and the whole output of that call. */
export const sample = (): readonly KeptSession[] => {
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

/** Two empty stores of a kind, closed behind `body`. */
export const withStores = async (
  open: Kind['open'],
  body: (from: Store, to: Store) => Promise<void>,
): Promise<void> => {
  const [from, to] = [await open(idsFrom()), await open(idsFrom(LATER))];
  try {
    await body(from, to);
  } finally {
    await from.close();
    await to.close();
  }
};
/** Imports a document; with the first id of what it has made. */
export const importing = async (store: Store, lines: readonly string[], how = asIs): Promise<string> =>
  importSession({ store, ids: idsFrom(LATER) }, await sent(lines), how);
