import { createKeyedQueue } from '../../core/keyed-queue.ts';
import { ask } from './ask.ts';
import { findDecided, replyToAll } from './decisions.ts';
import { type Joining, joinByDigest, joinByKey } from './joining.ts';
import { giveUpPlace, locate } from './locate.ts';
import {
  type AskedFrom,
  type BeginAttempt,
  type Begun,
  createTurn,
  joinTurn,
  type TurnNeeds,
  turnChanges,
} from './new-turn.ts';
import { findCandidate, outputPosition, readFacts } from './output/view.ts';
import { whileStale } from './records.ts';
import { turnRefusal } from './refusals.ts';
import type { AskedTurn } from './request.ts';
import { giveResults, turnAfterCalls } from './results.ts';

/** Of keys that no client has chosen: they are those of one request alone, and equal requests have others. */
const KEY_OF_REQUEST = 'once:';
const EQUAL_REQUESTS = 8;
const PLACE_LIMIT = 1000;

/** Requests of one place begin one after the other at this server: each would be decided again for every one before it. */
const placeOf = ({ owner, body: { conversation, key, digest } }: AskedTurn): string | undefined => {
  const place = conversation ?? key ?? digest;
  return place === undefined ? undefined : JSON.stringify([owner, place]);
};

const joiningOf = async (needs: TurnNeeds, { owner, body }: AskedTurn): Promise<Joining> => {
  const { turns } = needs.store;
  const { key, digest, isRetry } = body;
  const asked = { key, digest, isRetry, nowMs: needs.clock.now() };
  if (key !== undefined) {
    const turn = await turns.byKey(owner, key);
    const candidate = turn && (await findCandidate(needs, turn));
    if (candidate !== undefined) return joinByKey(candidate, asked);
    if (turn !== undefined) return { kind: 'begun', released: turn };
    if (!key.startsWith(KEY_OF_REQUEST)) return { kind: 'begun' };
  }
  if (digest === undefined) return { kind: 'begun' };
  const equal = await turns.byDigest(owner, digest, EQUAL_REQUESTS);
  const candidates = await Promise.all(equal.map((turn) => findCandidate(needs, turn)));
  return joinByDigest(
    candidates.filter((one) => one !== undefined),
    asked,
  );
};

/** Replies to permission requests, with a turn that goes on where the one that waits for them was read. */
const decide = async (needs: TurnNeeds, request: AskedTurn, attempt: BeginAttempt): Promise<Begun | undefined> => {
  const { store, ids, clock } = needs;
  const { owner, body, questions } = request;
  const { reader, released } = attempt;
  const continued = await findDecided(needs, owner, body);
  const by = body.by ?? attempt.by;
  if (questions.length > 0) {
    await replyToAll(needs, body.decisions, by);
    return undefined;
  }
  const conversation = await store.turns.conversation(owner, continued.conversationID);
  if (conversation === undefined) throw turnRefusal('no_such_request');
  const from = Math.max(continued.from, continued.readTo ?? outputPosition(await readFacts(needs, continued)));
  const { sessionID, promptID, conversationID, chain } = continued;
  const place = { sessionID, promptID, conversationID, chain, from };
  const turn = createTurn(request, { ...place, id: ids('turn'), messageIDs: [], createdMs: clock.now(), reader });
  await store.commit(turnChanges(turn, { conversation, before: conversation }, { released, continued }), []);
  await replyToAll(needs, body.decisions, by);
  return { outcome: 'begun', reader, facts: await readFacts(needs, turn), isFresh: false, start: () => {} };
};

const attemptOnce = async (needs: TurnNeeds, request: AskedTurn, asked: AskedFrom): Promise<Begun> => {
  const reader = needs.ids('part').replace('prt', 'rdr');
  const joining = await joiningOf(needs, request);
  if (joining.kind === 'joined') return joinTurn(needs, joining.turn, reader, joining);
  if (request.body.joinOnly) throw turnRefusal('turn_not_found');
  if (joining.kind === 'key-reused') throw turnRefusal('key_reused');
  if (joining.kind === 'aborted') throw turnRefusal('turn_aborted', { tools: joining.tools });
  const attempt: BeginAttempt = { ...asked, reader, released: joining.released };
  const decided = request.body.decisions.length > 0 ? await decide(needs, request, attempt) : undefined;
  if (decided !== undefined) return decided;
  const answered = await turnAfterCalls(needs, request);
  if (answered !== undefined) return joinTurn(needs, answered, reader);
  const located = await locate(needs, request, asked.directory);
  try {
    return await (request.results.length > 0 ? giveResults : ask)(needs, request, located, attempt);
  } catch (error) {
    await giveUpPlace(needs, located);
    throw error;
  }
};

/** Creates the function that begins a turn or joins one. */
export const createBegin = (needs: TurnNeeds) => {
  const inOrder = createKeyedQueue({
    ...{ count: PLACE_LIMIT, per: 'key' },
    createError: () => turnRefusal('conversation_full'),
  });
  return async (request: AskedTurn, asked: AskedFrom): Promise<Begun> => {
    const place = placeOf(request);
    const release = place === undefined ? () => {} : await inOrder.acquire(place, asked.signal);
    return whileStale(() => attemptOnce(needs, request, asked)).finally(release);
  };
};
