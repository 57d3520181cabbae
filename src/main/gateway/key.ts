import { newId } from '../../adapter/web-crypto.ts';

/** For development without a key: made for this run and shown once, outside the log. */
export const showKeyForThisRun = (): string => {
  const key = `dev-${newId()}`;
  process.stderr.write(`gatehouse gateway: no MODERATION_API_KEYS are set; the key of this run is ${key}\n`);
  return key;
};
