import fc from 'fast-check';
import * as assert from 'uvu/assert';
import type { Store } from '../../../../src/agent/store/store.ts';
import { describe, rejection, thorough } from '../../../check.ts';
import { anySessions, linesOf } from '../../harness/any-session.ts';
import { idsFrom, textPart } from '../../store/samples.ts';
import { asCopy, exported, idOf, idsIn, importing, KINDS, LATER, masked, parsed, sample, withStores } from './world.ts';

const RUNS = { memory: thorough(15, 1000), SQLite: thorough(4, 60) };

for (const { name, open } of KINDS) {
  describe(`sessions of a store in ${name}`, (check) => {
    check('come back from a document as they were, whatever they hold', () =>
      fc.assert(
        fc.asyncProperty(anySessions(idsFrom()), (given) =>
          withStores(open, async (from, to) => {
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
        { numRuns: RUNS[name] },
      ),
    );

    check('become a copy under new ids beside themselves, with the same order and the same references', () =>
      fc.assert(
        fc.asyncProperty(anySessions(idsFrom()), (given) =>
          withStores(open, async (store) => {
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
        { numRuns: RUNS[name] },
      ),
    );

    check('are reported as made once they are whole, and keep answers that were never completed', () =>
      withStores(open, async (store) => {
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
      withStores(open, async (store) => {
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
      withStores(open, async (store) => {
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

    check('keep a parent outside the document when the store holds it, and are without one otherwise', () =>
      withStores(open, async (from, to) => {
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
  });
}
