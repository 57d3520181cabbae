const FIRST_DELAY_MS = 1000;
const JITTER = 0.25;

export const LONGEST_RECONNECT_MS = 60_000;

/**
 * How long to leave a tool server alone after so many failures in a row, counted from 1, in whole milliseconds. `chance` is
 * 0 to 1, and shortens.
 */
export const reconnectDelayMs = (failures: number, chance: number): number =>
  Math.round(Math.min(LONGEST_RECONNECT_MS, FIRST_DELAY_MS * 2 ** (failures - 1)) * (1 - JITTER * chance));
