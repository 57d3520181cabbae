import * as fc from 'fast-check';
import { BALANCE_FAULTS, type BalanceFault, type RouteFault } from '../../demo/relay/faults/names.ts';
import type { JournalFault } from './processes.ts';

export const USERS = [2, 4, 6] as const;
export const PROCESSES = 3;
/** Faults that a world without a network can show; what drips or is squeezed needs one. */
const READ_FAULTS: readonly RouteFault[] = [
  'unavailable',
  'internal',
  'html',
  'garbage',
  'wrong-shape',
  'redirect-302',
  'unauthorized',
  'terms',
  'not-found',
  'rate-limited',
  'drop',
  'stuck',
  'slow',
];
const JOURNAL_FAULTS: readonly JournalFault[] = ['append-fails', 'append-fails-after', 'append-tears', 'read-fails'];
export const TARGETS = [/balance-history/, /users\/\d+$/, /rpm-status/, /GET|users/] as const;

/** One thing that happens in the world. Numbers that are too large for what there is are taken modulo. */
export type Command =
  | { readonly do: 'preview'; readonly process: number; readonly user: number }
  | {
      readonly do: 'call';
      readonly process: number;
      readonly token: number;
      readonly key: number;
      readonly times: number;
    }
  | { readonly do: 'again'; readonly process: number; readonly call: number; readonly times: number }
  | { readonly do: 'cancel'; readonly call: number }
  | { readonly do: 'kill'; readonly process: number; readonly shares: readonly number[] }
  | { readonly do: 'wait'; readonly ms: number }
  | { readonly do: 'balance-fault'; readonly fault: BalanceFault }
  | { readonly do: 'read-fault'; readonly fault: RouteFault; readonly target: number; readonly times: number }
  | { readonly do: 'journal-fault'; readonly fault: JournalFault }
  | { readonly do: 'spend'; readonly user: number; readonly isRunning: boolean }
  | { readonly do: 'release'; readonly picks: readonly number[] }
  | { readonly do: 'settle' };

const aNumber = fc.nat({ max: 11 });
const aProcess = fc.nat({ max: PROCESSES - 1 });
const aUser = fc.nat({ max: USERS.length - 1 });
const times = fc.constantFrom(1, 1, 1, 2, 3);
/** Nothing, everything, or a part. */
const aShare = fc.constantFrom(0, 1, 0.2, 0.9, 0.99);
const picks = fc.array(fc.nat({ max: 30 }), { minLength: 1, maxLength: 12 });
/** Mostly a token with the key that is its own. */
const aPair = fc.tuple(aNumber, fc.constantFrom(0, 0, 0, 0, 1, 2)).map(([token, off]) => ({ token, key: token + off }));

export const aCommand: fc.Arbitrary<Command> = fc.oneof(
  { weight: 2, arbitrary: fc.record({ do: fc.constant('preview'), process: aProcess, user: aUser }) },
  {
    weight: 6,
    arbitrary: fc
      .tuple(aProcess, aPair, times)
      .map(([process, pair, times]) => ({ do: 'call' as const, process, ...pair, times })),
  },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('again'), process: aProcess, call: aNumber, times }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('cancel'), call: aNumber }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('kill'),
      process: aProcess,
      shares: fc.array(aShare, { minLength: 1, maxLength: 4 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('wait'),
      ms: fc.constantFrom(0, 1, 300, 1000, 5000, 8000, 16_000, 23_000, 31_000, 121_000),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('balance-fault'), fault: fc.constantFrom(...BALANCE_FAULTS) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('read-fault'),
      fault: fc.constantFrom(...READ_FAULTS),
      target: fc.nat({ max: TARGETS.length - 1 }),
      times: fc.constantFrom(1, 2, 3),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('journal-fault'), fault: fc.constantFrom(...JOURNAL_FAULTS) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('spend'), user: aUser, isRunning: fc.boolean() }) },
  { weight: 14, arbitrary: fc.record({ do: fc.constant('release'), picks }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('settle') }) },
);
