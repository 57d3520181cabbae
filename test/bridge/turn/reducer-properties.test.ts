import * as fc from 'fast-check';
import * as assert from 'uvu/assert';
import type { AgentEventRecord } from '../../../src/bridge/agent/schema.ts';
import { createTurnLog } from '../../../src/bridge/turn/log.ts';
import { createTurnReducer } from '../../../src/bridge/turn/reducer.ts';
import { describe, thorough } from '../../check.ts';
import { aTurn, listedAfter, turnWithTexts } from '../harness/scripted-turn.ts';
import { completed, reported, shortOf, textEventsIn, tokensOf, userInfo } from '../harness/turn-events.ts';

/** A turn before this one, of which the agent lists everything and tells some things again. */
const EARLIER: readonly AgentEventRecord[] = [
  reported(userInfo('u0')),
  ...textEventsIn('p0', 'u0', 'An earlier', ' question'),
  reported(completed('a0', 'u0', { tokens: tokensOf(777, 7) })),
  ...textEventsIn('t0', 'a0', 'An earlier', ' answer'),
];

/** What happens on the way, at some of the events. */
const anIncident = fc.record({
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  kind: fc.constantFrom('lose', 'lose', 'list', 'again'),
  /** How many events are lost. */
  count: fc.nat({ max: 6 }),
  /** How much further the agent is when it lists, and how much later the list comes. */
  ahead: fc.nat({ max: 12 }),
  later: fc.nat({ max: 12 }),
});
type Incident = typeof anIncident extends fc.Arbitrary<infer One> ? One : never;

/** Tells a turn with everything that can happen to its events, and looks at the end as the bridge does. */
const transcribed = (events: readonly AgentEventRecord[], incidents: readonly Incident[]) => {
  const writer = createTurnLog();
  const transcript = createTurnReducer(writer, new Set(['u0']));
  const listed = (until: number) => listedAfter([...EARLIER, ...events.slice(0, until)]);
  const snapshots: { readonly at: number; readonly until: number; readonly gaps: number }[] = [];
  const seen: string[][] = [];
  let gaps = 0;
  let skipUntil = 0;
  const ask = (now: number, { ahead, later }: Pick<Incident, 'ahead' | 'later'>) =>
    snapshots.push({ at: now + later, until: Math.min(events.length, now + ahead), gaps });
  for (const [now, event] of events.entries()) {
    for (const incident of incidents.filter(({ at }) => Math.floor(at * events.length) === now)) {
      if (incident.kind === 'again') for (const old of EARLIER) transcript.applyEvent(old);
      else if (incident.kind === 'list') ask(now, incident);
      else skipUntil = Math.max(skipUntil, now + incident.count);
    }
    if (now < skipUntil) {
      if (now === skipUntil - 1) {
        gaps += 1;
        transcript.noteGap();
        ask(skipUntil, { ahead: now % 9, later: now % 7 });
      }
      continue;
    }
    transcript.applyEvent(event);
    for (const { until } of snapshots.filter(({ at, gaps: known }) => at === now && known === gaps))
      transcript.applySnapshot(listed(until));
    seen.push(writer.log.items().map((item) => (item.kind === 'call' ? item.id : item.pieces.join(''))));
  }
  transcript.applySnapshot(listed(events.length));
  return { log: writer.log, transcript, seen };
};

describe('an answer, whatever happens to its events on the way,', (check) => {
  check('is what the agent says, each text once, whole and in its place', () => {
    fc.assert(
      fc.property(aTurn, fc.array(anIncident, { maxLength: 6 }), (steps, incidents) => {
        const { events, outputText, calls, promptTokens, lastID } = turnWithTexts(
          steps.map((step) => ({ ...step, brokenOff: undefined })),
        );
        const { log, transcript, seen } = transcribed(events, incidents);
        const items = log.items().filter((item) => item.kind === 'call' || item.pieces.length > 0);
        assert.equal(items.filter(({ kind }) => kind !== 'call').map(shortOf), outputText);
        assert.equal(
          items.filter(({ kind }) => kind === 'call').map((item) => shortOf(item).split(': ')[1]),
          Array(calls).fill('seen'),
        );
        assert.equal([log.usage().prompt, transcript.promptID()], [promptTokens, 'u1']);
        assert.equal([transcript.lastAnswer()?.id, transcript.isComplete(lastID)], [lastID, true]);
        const last = log.items().map((item) => (item.kind === 'call' ? item.id : item.pieces.join('')));
        for (const earlier of seen) {
          // Nothing that a reader may have been told was taken back.
          for (const [place, text] of earlier.entries()) assert.ok(last[place]?.startsWith(text));
        }
      }),
      { numRuns: thorough(1500, 20_000) },
    );
  });

  check('is the same where its backend was asked again, and said the same', () => {
    fc.assert(
      fc.property(aTurn, fc.array(anIncident, { maxLength: 4 }), (steps, incidents) => {
        const { events, outputText } = turnWithTexts(steps);
        const { log } = transcribed(events, incidents);
        const textsIn = (items: readonly string[]) => items.filter((item) => item.startsWith('text: '));
        // What is said again goes on in the item of what was said before, so thoughts may stand elsewhere.
        const reported = log.items().filter((item) => item.kind !== 'call' && item.pieces.length > 0);
        assert.equal(textsIn(reported.map(shortOf)), textsIn(outputText));
      }),
      { numRuns: thorough(1500, 20_000) },
    );
  });
});
