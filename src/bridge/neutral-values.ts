import { isRecord } from '../core/record.ts';

/** Whether a value asks for nothing, so that it need not be told that it has no effect. */
export type IsNeutral = (value: unknown) => boolean;

export const is =
  (...neutral: readonly unknown[]): IsNeutral =>
  (value) =>
    neutral.includes(value);
export const never: IsNeutral = () => false;
export const isEmpty: IsNeutral = (value) =>
  value === '' || (Array.isArray(value) && value.length === 0) || (isRecord(value) && Object.keys(value).length === 0);
