import { awaitedLater } from './agent/process.ts';

/** For checks that mostly wait: the bodies of all of them begin with the first. */
export const begunTogether = () => {
  const bodies: (() => Promise<void>)[] = [];
  let begun: readonly Promise<void>[] | undefined;
  return (body: () => Promise<void>): (() => Promise<void>) => {
    const place = bodies.push(body) - 1;
    return async () => {
      begun ??= bodies.map((one) => awaitedLater(one()));
      await begun[place];
    };
  };
};
