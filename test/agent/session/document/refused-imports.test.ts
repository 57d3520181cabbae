import * as assert from 'uvu/assert';
import { SessionDocumentError } from '../../../../src/agent/session/document.ts';
import { exportSession } from '../../../../src/agent/session/export.ts';
import type { Store } from '../../../../src/agent/store/store.ts';
import { describe, rejection } from '../../../check.ts';
import { linesOf } from '../../harness/any-session.ts';
import { idsFrom, sessionOf, userMessage } from '../../store/samples.ts';
import { asCopy, errorsAbout, exported, idOf, importing, KINDS, LATER, parsed, sample, withStores } from './world.ts';

for (const { name, open } of KINDS) {
  describe(`sessions of a store in ${name}`, (check) => {
    const eventTypes = async (store: Store) =>
      (await store.events({ afterID: '', limit: 100 })).map(({ event }) => event.type);

    check('are refused when their ids are there, and nothing is changed by that', () =>
      withStores(open, async (store) => {
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
      withStores(open, async (store) => {
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
      withStores(open, async (store) => {
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
      withStores(open, async (store) => {
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

    check('that are each the parent of the other are exported once each, and not imported', () =>
      withStores(open, async (store) => {
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
      withStores(open, async (store) => {
        const id = idsFrom()('session');
        assert.is(await exportSession(store, id), undefined);
        assert.is(await exportSession(store, 'constructor'), undefined);
        await store.commit([{ kind: 'session-begun', session: sessionOf(id) }], []);
        assert.is(await exportSession(store, id), undefined);
      }),
    );

    check('that are removed while they are exported make no whole document', () =>
      withStores(open, async (store) => {
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
