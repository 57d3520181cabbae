import fc from 'fast-check';
import * as assert from 'uvu/assert';
import { sessionIDOf } from '../../../../src/agent/protocol/events.ts';
import type { Session } from '../../../../src/agent/protocol/types.ts';
import type { DirectoryEvent, OwedAnswer, Store } from '../../../../src/agent/store/store.ts';
import type { Check } from '../../../check.ts';
import { anyCommit, anySessionsAsked, MESSAGES, PARTS, SESSIONS } from '../any-commit.ts';
import { afterAll, EMPTY, type Model, messagesIn, owedIn, sessionsIn, unfinishedIn } from '../model.ts';
import { ascend, idsOf, infoIDs, type StorePlaces } from './places.ts';

const outlineOf = ({ id, parentID, time }: Session) => ({
  id,
  ...(parentID === undefined ? {} : { parentID }),
  updatedMs: time.updated,
});

const byPrompt = (owed: readonly OwedAnswer[]): OwedAnswer[] =>
  [...owed].sort((left, right) => (left.promptID < right.promptID ? -1 : 1));

const heldBy = async (store: Store) => ({
  sessions: await store.sessions({}),
  outlines: await store.sessionOutlines(),
  messages: await Promise.all(SESSIONS.map((id) => store.messages(id))),
  outputs: await Promise.all(SESSIONS.flatMap((id) => PARTS.map((partID) => store.output(id, partID)))),
  unfinished: await store.unfinished(),
  owed: [await store.owed(), ...(await Promise.all(SESSIONS.map((id) => store.owed(id))))].map(byPrompt),
});

const expectedOf = (model: Model) => ({
  sessions: sessionsIn(model, {}),
  outlines: sessionsIn(model, {}).map(outlineOf),
  messages: SESSIONS.map((id) => messagesIn(model, id)),
  outputs: SESSIONS.flatMap((id) =>
    PARTS.map((partID) => model.outputs.find((held) => held.sessionID === id && held.partID === partID)?.text),
  ),
  unfinished: unfinishedIn(model),
  owed: [owedIn(model), ...SESSIONS.map((id) => owedIn(model, id))].map(byPrompt),
});

/** What every store promises about random commits, compared with a plain list. */
export const checkRandomCommits = (check: Check, { withStore, randomRuns }: StorePlaces): void => {
  check('is what a plain list of things would be, whatever is committed', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(anyCommit, { minLength: 1, maxLength: 4 }), { maxLength: 12 }),
        fc.array(anySessionsAsked, { minLength: 5, maxLength: 5 }),
        fc.record(
          { limit: fc.nat(4), beforeID: fc.constantFrom(...MESSAGES), fromID: fc.constantFrom(...MESSAGES) },
          { requiredKeys: [] },
        ),
        async (groups, questions, paging) =>
          withStore(async (store) => {
            let model = EMPTY;
            let events: DirectoryEvent[] = [];
            for (const group of groups) {
              const outcomes = await Promise.allSettled(
                group.map(({ changes, events: drafts }) => store.commit(changes, drafts)),
              );
              for (const [index, { changes, events: drafts }] of group.entries()) {
                const next = afterAll(model, changes);
                const outcome = outcomes[index];
                assert.is(outcome?.status, next === undefined ? 'rejected' : 'fulfilled');
                model = next ?? model;
                if (outcome?.status !== 'fulfilled') continue;
                const gone = changes.flatMap((change) => (change.kind === 'session-removed' ? change.sessionID : []));
                events = events.filter(({ event }) => !gone.includes(sessionIDOf(event) ?? ''));
                events.push(...outcome.value);
                const withoutIDs = outcome.value.map(({ directory, event: { id, ...draft } }) => ({
                  directory,
                  draft,
                }));
                assert.equal(withoutIDs, drafts);
              }
              assert.equal(await heldBy(store), expectedOf(model));
            }
            assert.ok(ascend(idsOf(events)));
            assert.equal(await store.events({ afterID: '', limit: 1000 }), events);
            for (const asked of questions) assert.equal(await store.sessions(asked), sessionsIn(model, asked));
            for (const id of SESSIONS) {
              const older = messagesIn(model, id).filter(
                ({ info }) => info.id < (paging.beforeID ?? '~') && info.id >= (paging.fromID ?? ''),
              );
              const newest = paging.limit === undefined ? older : older.slice(Math.max(0, older.length - paging.limit));
              assert.equal(await store.messages(id, paging), newest);
              const outlines = await store.messageOutlines(id, paging);
              assert.equal(
                outlines.map((sized) => sized.id),
                infoIDs(newest),
              );
              assert.equal(
                await store.messageHeads(id, paging),
                newest.map(({ info }, place) => ({ info, bytes: outlines[place]?.bytes })),
              );
            }
          }),
      ),
      { numRuns: randomRuns },
    );
  });
};
