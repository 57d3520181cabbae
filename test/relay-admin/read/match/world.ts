import { RelayError } from '../../../../src/relay-admin/errors/errors.ts';

/** The error that an attempt throws. */
export const problemOf = (attempt: () => unknown): RelayError => {
  try {
    attempt();
  } catch (error) {
    if (error instanceof RelayError) return error;
    throw error;
  }
  throw new Error('Expected a problem');
};
