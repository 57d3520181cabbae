import { createWorld, previewed, type World } from '../../harness/world.ts';

/** The id of a user of the demo relay. */
export const ALICE = 2;

/** A preview of 10 for Alice, and a process to recharge her with it. */
export const withPreview = async (amount = '10') => {
  const world = createWorld();
  const admin = world.start();
  return { world, admin, token: await previewed(admin, ALICE, amount) };
};
/** The amounts that the relay has credited. */
export const creditsIn = ({ control }: World): string[] => control.credits().map(({ amount }) => amount);
