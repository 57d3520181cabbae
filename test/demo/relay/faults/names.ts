/** What can go wrong with a POST of a balance. A name with `after` goes wrong once the credit is made. */
export const BALANCE_FAULTS = [
  'unavailable-before',
  'unavailable-after',
  'drop-before',
  'drop-after',
  'no-history',
  'error-after',
  'stuck',
  'stuck-before',
  'slow',
  'late',
  'conflict',
  'in-progress',
  'backoff',
  'html-before',
  'html-after',
  'garbage-after',
  'wrong-shape-after',
  'redirect',
  'misdirected-after',
  'rate-limited',
  'bad-gateway-before',
  'bad-gateway-after',
  'unauthorized',
  'terms',
  'echo-key-500',
  'huge-after',
  'late-without-history',
  'refused-after',
  'refused-without-history',
  'refused-and-user-unreadable',
  'refused-and-spent',
] as const;
export type BalanceFault = (typeof BALANCE_FAULTS)[number];

/** What can go wrong with every other request. A name with `after` lets the route do its work first, and hides it. */
export const ROUTE_FAULTS = [
  'unavailable',
  'unavailable-after',
  'internal',
  'internal-after',
  'html',
  'garbage',
  'garbage-after',
  'wrong-shape',
  'redirect-301',
  'redirect-302',
  'redirect-307',
  'redirect-308',
  'unauthorized',
  'forbidden',
  'terms',
  'not-found',
  'rate-limited',
  'drop',
  'drop-after',
  'stuck',
  'stuck-after',
  'slow',
  'ignored',
  'huge',
  'bomb',
  'drip',
  'echo-key-400',
  'not-modified',
] as const;
export type RouteFault = (typeof ROUTE_FAULTS)[number];

type Waiting<Fault> = { readonly fault: Fault; left: number; readonly target: RegExp };

/** Faults that wait for their requests: the first that fits is taken, and it is gone once it was taken `times` times. */
export const createFaultQueue = <Fault extends string>() => {
  const waiting: Waiting<Fault>[] = [];
  return {
    /** `target` narrows it to requests whose path and query fit. Without a `g` flag, which would remember. */
    add(fault: Fault, times = 1, target = /(?:)/): void {
      waiting.push({ fault, left: times, target });
    },
    take(target: string): Fault | undefined {
      const next = waiting.find((one) => one.left > 0 && one.target.test(target));
      if (next !== undefined) next.left -= 1;
      return next?.fault;
    },
    clear(): void {
      waiting.length = 0;
    },
  };
};
