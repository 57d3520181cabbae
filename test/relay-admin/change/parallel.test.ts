import * as assert from 'uvu/assert';
import type { HttpClient } from '../../../src/core/http/client.ts';
import { createUser } from '../../../src/demo/relay/records/users.ts';
import type { RelayAdmin } from '../../../src/relay-admin/app.ts';
import { describe } from '../../check.ts';
import { createWorld, keyNumber, previewed, refusalOf, resultOf, type World } from '../harness/world.ts';
import { changesAt, codeOf, comeTo, pay, payRefusal, until } from '../recharge/steps.ts';

const PLACES = 16;
const LIMIT_MS = 30_000;
const FIRST_ID = 101;

/** Lets whatever can go on without the clock come to rest, hashes made on other threads included. */
const atRest = async (): Promise<void> => {
  let turns = 0;
  await until(() => turns++ > 1000);
};

/** Adds users to the relay, and gives them a preview each. */
const previewedCrowd = async (world: World, count: number): Promise<readonly string[]> => {
  const admin = world.start();
  const ids = Array.from({ length: count }, (_, index) => FIRST_ID + index);
  for (const id of ids) world.control.users.push(createUser(id, `user${id}@example.com`, '2026-01-01T00:00:00.000Z'));
  return Promise.all(ids.map((id) => previewed(admin, id, '1')));
};

/** Holds every change back until it is let through, and counts those that were held at once. */
const createBarrier = () => {
  const held: (() => void)[] = [];
  let inFlight = 0;
  let most = 0;
  let isOpen = false;
  const letGo = (): void => {
    for (const go of held.splice(0)) go();
  };
  return {
    held: () => held.length,
    most: () => most,
    letGo,
    /** Those that come later, too. */
    letAllGo() {
      isOpen = true;
      letGo();
    },
    over:
      (direct: HttpClient): HttpClient =>
      async (sent) => {
        if (sent.method === 'GET') return direct(sent);
        inFlight += 1;
        most = Math.max(most, inFlight);
        try {
          if (!isOpen) await new Promise<void>((resolve) => held.push(resolve));
          return await direct({ ...sent, signal: new AbortController().signal });
        } finally {
          inFlight -= 1;
        }
      },
  };
};

const payAll = (admin: RelayAdmin, tokens: readonly string[]) =>
  tokens.map((token, index) => pay(admin, { token, key: keyNumber(index) }));

/** A process in which every place is taken by a recharge that hangs, and the preview of one more user. */
const fullQueue = async () => {
  const world = createWorld();
  const barrier = createBarrier();
  const admin = world.start({ httpClient: barrier.over });
  const tokens = await previewedCrowd(world, PLACES + 1);
  const inside = payAll(admin, tokens.slice(0, PLACES));
  await until(() => barrier.held() === PLACES);
  return { world, barrier, admin, inside, tokens, last: { token: tokens[PLACES]!, key: keyNumber(PLACES) } };
};

const OVER_AND_UNSENT = /^DEADLINE: .* outcome=not_applied retry=same_call/;

describe('changes at the same time', (check) => {
  check('of many users are sixteen at most, and all end well with a slow relay', async () => {
    const world = createWorld();
    const barrier = createBarrier();
    const admin = world.start({ httpClient: barrier.over });
    const tokens = await previewedCrowd(world, 40);
    const asked = payAll(admin, tokens);
    for (const size of [PLACES, PLACES, 40 - 2 * PLACES]) {
      await until(() => barrier.held() === size);
      await world.clock.advance(2000);
      assert.is(barrier.held(), size);
      barrier.letGo();
    }
    assert.equal((await Promise.all(asked)).map(comeTo), Array(tokens.length).fill('verified'));
    assert.is(barrier.most(), PLACES);
    assert.is(changesAt(world).length, tokens.length);
    assert.is(world.control.credits().length, tokens.length);
  });

  check('leave none behind: what waited until its time was over says that nothing was sent', async () => {
    const { world, barrier, admin, inside, last } = await fullQueue();
    const asked = payRefusal(admin, last);
    await atRest();
    await world.clock.advance(LIMIT_MS);
    assert.match(await asked, OVER_AND_UNSENT);
    assert.is(barrier.held(), PLACES);
    assert.is(world.file.lines.filter((line) => line.includes('"kind":"claim"')).length, PLACES);
    barrier.letAllGo();
    await Promise.all(inside);
    assert.is(comeTo(await pay(admin, last)), 'verified');
    assert.is(changesAt(world).length, PLACES + 1);
  });

  check('leave none behind: what was cancelled while it waited sends nothing', async () => {
    const { world, barrier, admin, inside, last } = await fullQueue();
    const caller = new AbortController();
    const asked = payRefusal(admin, { ...last, signal: caller.signal });
    await atRest();
    caller.abort();
    assert.is(codeOf(await asked), 'CANCELLED');
    const again = pay(admin, last);
    barrier.letAllGo();
    assert.equal((await Promise.all([...inside, again])).map(comeTo), Array(PLACES + 1).fill('verified'));
    assert.is(changesAt(world).length, PLACES + 1);
  });

  check('of limits and accounts wait for the same places', async () => {
    for (const [name, given] of [
      ['update_user_limits', { user_id: 2, rpm_limit: 7 }],
      ['set_account_schedulable', { account_id: 1, schedulable: false }],
    ] as const) {
      const { world, barrier, admin, inside } = await fullQueue();
      const asked = refusalOf(admin, name, given);
      await atRest();
      await world.clock.advance(LIMIT_MS);
      assert.match(await asked, OVER_AND_UNSENT, name);
      assert.is(barrier.held(), PLACES);
      barrier.letAllGo();
      await Promise.all(inside);
      assert.is((await resultOf(admin, name, given)).outcome, 'verified', name);
    }
  });

  check('keep no one from reading, from a preview, or from receiving what came of a pair', async () => {
    const { world, barrier, admin, inside, tokens, last } = await fullQueue();
    assert.is(comeTo(await pay(world.start(), last)), 'verified');
    assert.ok(await previewed(admin, 2, '1'));
    assert.is((await resultOf(admin, 'read', { path: 'users/2' })).truncated, false);
    const reported = await pay(admin, last);
    assert.ok(reported.kind === 'done' && reported.result.outcome === 'verified' && reported.result.replayed === true);
    const twin = pay(admin, { token: tokens[0]!, key: keyNumber(0) });
    barrier.letAllGo();
    assert.equal((await Promise.all([...inside, twin])).map(comeTo), Array(PLACES + 1).fill('verified'));
    assert.is(changesAt(world).length, PLACES + 1);
  });

  check('of one user stand in one line and leave the places to others', async () => {
    const world = createWorld();
    const barrier = createBarrier();
    const admin = world.start({ httpClient: barrier.over });
    const [other] = await previewedCrowd(world, 1);
    const line = await Promise.all(Array.from({ length: PLACES * 2 }, () => previewed(admin, 2, '1')));
    const inLine = payAll(admin, line);
    await until(() => barrier.held() === 1);
    const passing = pay(admin, { token: other!, key: keyNumber(99) });
    await until(() => barrier.held() === 2);
    barrier.letAllGo();
    assert.is(comeTo(await passing), 'verified');
    assert.equal((await Promise.all(inLine)).map(comeTo).sort().slice(-2), ['PREVIEW_STALE', 'verified']);
  });
});
