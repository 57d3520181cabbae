/** What the reader's browser prefers; dates, numbers and money are written by it. Nothing: the browser's own default. */
const locale: string | undefined = globalThis.navigator?.language;

const DAY_MS = 86_400_000;
const time = new Intl.DateTimeFormat(locale, { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const dayAndTime = new Intl.DateTimeFormat(locale, {
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
});
const full = new Intl.DateTimeFormat(locale, { dateStyle: 'full', timeStyle: 'long' });
const date = new Intl.DateTimeFormat(locale, { dateStyle: 'medium' });

const startOfDay = (ms: number): number => new Date(ms).setHours(0, 0, 0, 0);

/** A time as a list shows it: of today the time, of this year day and time, else the date. Milliseconds since the epoch. */
export const shortTime = (ms: number, nowMs: number): string => {
  if (!Number.isFinite(ms)) return '–';
  if (startOfDay(ms) === startOfDay(nowMs)) return time.format(ms);
  return Math.abs(nowMs - ms) < 300 * DAY_MS ? dayAndTime.format(ms) : date.format(ms);
};

/** Day, time and zone in full. */
export const fullTime = (ms: number): string => (Number.isFinite(ms) ? full.format(ms) : '–');

const unit = (count: number, name: string, display: 'narrow' | 'long'): string =>
  new Intl.NumberFormat('en', { style: 'unit', unit: name, unitDisplay: display }).format(count);

/** A duration in its two largest units, as `4 min 12 s` is: `4m 12s`, or `4 minutes 12 seconds` for `long`. */
export const durationText = (ms: number, display: 'narrow' | 'long' = 'narrow'): string => {
  const seconds = Math.max(0, Math.round(ms / 1000));
  const parts: readonly (readonly [number, string])[] = [
    [Math.floor(seconds / 86_400), 'day'],
    [Math.floor(seconds / 3600) % 24, 'hour'],
    [Math.floor(seconds / 60) % 60, 'minute'],
    [seconds % 60, 'second'],
  ];
  const first = parts.findIndex(([count]) => count > 0);
  if (first === -1) return unit(0, 'second', display);
  return parts
    .slice(first, first + 2)
    .filter(([count]) => count > 0)
    .map(([count, name]) => unit(count, name, display))
    .join(' ');
};

const fixed = (digits: number) =>
  new Intl.NumberFormat(locale, { minimumFractionDigits: digits, maximumFractionDigits: digits });
const [tenths, hundredths] = [fixed(1), fixed(2)];

/** A short duration: `38 ms`, `1.24 s`. */
export const latencyText = (ms: number): string =>
  ms < 999.5 ? `${Math.round(ms)} ms` : `${(ms < 9995 ? hundredths : tenths).format(ms / 1000)} s`;
