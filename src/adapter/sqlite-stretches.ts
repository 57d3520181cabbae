import type { Sized } from '../agent/store/store.ts';

/** The same messages in groups of about so many bytes. None is empty; a message that is larger has one of its own. */
export const stretchesOf = (outline: readonly Sized[], limitBytes: number): readonly (readonly Sized[])[] => {
  const stretches: Sized[][] = [];
  let room = 0;
  for (const sized of outline) {
    const last = stretches.at(-1);
    if (last !== undefined && sized.bytes <= room) last.push(sized);
    else {
      stretches.push([sized]);
      room = limitBytes;
    }
    room -= sized.bytes;
  }
  return stretches;
};
