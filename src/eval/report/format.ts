/** A share in three decimals; a dash where there is none, never a zero. */
export const shareText = (value: number | null): string => (value === null ? '–' : value.toFixed(3));

/** How much more the first is, with its sign; a dash where one of them is missing. */
export const differenceText = (value: number | null, other: number | null, decimals: number): string => {
  if (value === null || other === null) return '–';
  const size = Math.abs(value - other).toFixed(decimals);
  return Number(size) === 0 ? size : `${value > other ? '+' : '−'}${size}`;
};

/** A part of a whole, and how much of it; a dash where there is no whole. */
export const partText = (part: number, whole: number): string =>
  whole === 0 ? '–' : `${part} (${((100 * part) / whole).toFixed(1)} %)`;

/** Milliseconds: whole from ten on. */
export const millisecondsText = (ms: number): string => `${ms.toFixed(ms < 10 ? 1 : 0)} ms`;

/** A whole number with separators. */
export const wholeText = (count: number): string => count.toLocaleString('en-US');

/** A power of ten on an axis, in few characters. */
export const powerText = (power: number): string =>
  power < 3 ? String(10 ** power) : power < 6 ? `${10 ** (power - 3)}k` : `${10 ** (power - 6)}M`;

/** No more than so many of a list, evenly chosen; the first and the last are always among them. */
export const thinned = <T>(list: readonly T[], most: number): readonly T[] =>
  list.length <= most
    ? list
    : list.filter(
        (_, index) =>
          Math.floor((index * (most - 1)) / (list.length - 1)) !==
          Math.floor(((index - 1) * (most - 1)) / (list.length - 1)),
      );
