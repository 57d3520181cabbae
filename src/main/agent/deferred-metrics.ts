import type { Meter } from '../../agent/metrics.ts';

/** More would be held for nothing: the meter is loaded soon after the start, or cannot be loaded at all. */
const HELD_LIMIT = 10_000;

/** A meter whose library is loaded when `load` is called or the metrics are asked for. What happens before is counted then. */
export const createLateMeter = (loaded: () => Promise<Meter>): { readonly meter: Meter; readonly load: () => void } => {
  let meter: Meter | undefined;
  const held: ((meter: Meter) => void)[] = [];
  const ready = async (): Promise<Meter> => {
    const fresh = await loaded();
    meter = fresh;
    for (const tell of held.splice(0)) tell(fresh);
    return fresh;
  };
  const tell = (fact: (meter: Meter) => void): void => {
    if (meter !== undefined) fact(meter);
    else if (held.length < HELD_LIMIT) held.push(fact);
  };
  return {
    meter: {
      answered: (facts) => tell((one) => one.answered(facts)),
      turn: (facts) => tell((one) => one.turn(facts)),
      modelCall: (facts) => tell((one) => one.modelCall(facts)),
      toolCall: (facts) => tell((one) => one.toolCall(facts)),
      retired: (sessions) => tell((one) => one.retired(sessions)),
      watch: (read) => tell((one) => one.watch(read)),
      text: async () => (await ready()).text(),
    },
    load: () => void ready().catch(() => {}),
  };
};
