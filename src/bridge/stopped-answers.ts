import { entriesOf } from './conversation/fingerprint.ts';

/** What clients were told in answers that they did not stay for. Only the latest few, and of each only the beginning. */
export type StoppedAnswers = {
  readonly set: (sessionID: string, told: string | undefined) => void;
  readonly get: (sessionID: string) => string | undefined;
};

const CHARS_EACH = 64 * 1024;
const KEPT = 200;

export const createStoppedAnswers = (): StoppedAnswers => {
  const answers = new Map<string, string>();
  return {
    set(sessionID, told) {
      answers.delete(sessionID);
      if (told === undefined) return;
      const [entry] = entriesOf([{ role: 'assistant', text: told }]);
      answers.set(sessionID, entry?.text.slice(0, CHARS_EACH) ?? '');
      const [oldest] = answers.keys();
      if (answers.size > KEPT && oldest !== undefined) answers.delete(oldest);
    },
    get: (sessionID) => answers.get(sessionID),
  };
};
