import * as assert from 'uvu/assert';
import { createWorld, previewed, type World } from '../../harness/world.ts';
import { changesAt, codeOf } from '../steps.ts';

export const ALICE = 2;

export const CAROL = 4;

/** A world in which Alice was previewed to get 10. */
export const withPreview = async () => {
  const world = createWorld();
  const admin = world.start();
  return { world, admin, token: await previewed(admin, ALICE, '10') };
};

/** Expects the code, the words that nothing was credited, and that nothing was. */
export const refusedUnsent = async (world: World, code: string, asked: Promise<string>): Promise<string> => {
  const before = changesAt(world).length;
  const text = await asked;
  assert.is(codeOf(text), code, text);
  assert.match(text, ' outcome=not_applied ');
  assert.is(changesAt(world).length, before, 'something was sent');
  return text;
};
