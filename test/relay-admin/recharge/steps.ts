import { untilAborted } from '../../../src/core/async.ts';
import type { HttpClient } from '../../../src/core/http/client.ts';
import type { SeenRequest } from '../../../src/demo/relay/interceptor.ts';
import type { RelayAdmin, ToolAnswer } from '../../../src/relay-admin/app.ts';
import type { JournalFile } from '../../../src/relay-admin/recharge/journal.ts';
import type { RelayControl } from '../../demo/relay/control.ts';
import { answerOf, keyNumber, refusalOf, resultOf, type World } from '../harness/world.ts';

type Pay = {
  readonly token: string;
  readonly key?: string;
  readonly doubt?: string;
  readonly signal?: AbortSignal;
};

const call = ({ token, key = keyNumber(1), doubt, signal = new AbortController().signal }: Pay) => {
  const named = doubt === undefined ? {} : { acknowledge_doubt: doubt };
  return ['recharge', { preview_token: token, idempotency_key: key, ...named }, signal] as const;
};

/** Asks for a recharge with key 1 unless told otherwise. */
export const pay = (admin: RelayAdmin, given: Pay): Promise<ToolAnswer> => answerOf(admin, ...call(given));
export const paid = (admin: RelayAdmin, given: Pay) => resultOf(admin, ...call(given));
export const payRefusal = (admin: RelayAdmin, given: Pay) => refusalOf(admin, ...call(given));

/** What a refusal is known by: its code and what it says of the money. */
export const codeOf = (text: string): string => text.slice(0, text.indexOf(':'));

/** In short, what a call came to: `verified`, a reason, or the code of a refusal. */
export const comeTo = (answer: ToolAnswer): string => {
  if (answer.kind === 'done') return String(answer.result.reason ?? answer.result.outcome);
  return answer.kind === 'failed' ? codeOf(answer.text) : answer.kind;
};

/** Everything that was sent to the relay and could change something. */
export const changesIn = (control: RelayControl): readonly SeenRequest[] =>
  control.requests().filter(({ method }) => method !== 'GET');
export const changesAt = ({ control }: World): readonly SeenRequest[] => changesIn(control);

/** The limit of a call, for before and for after it is sent. */
const TIMERS_OF_A_CALL = 2;

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Lets everything run that does not wait for the clock. */
export const until = async (isSo: () => boolean): Promise<void> => {
  for (let turns = 0; !isSo(); turns++) {
    if (turns > 200_000) throw new Error('It never comes to that');
    await turn();
  }
};

/**
 * Moves the clock on for as long as the promise is pending and something besides the calls' own limits waits for it.
 * Without that condition a slow machine would use up a call's time while it computes a hash.
 */
export const inTime = async <T>({ clock }: World, promise: Promise<T>, calls = 1): Promise<T> => {
  let isSettled = false;
  const settled = promise.finally(() => {
    isSettled = true;
  });
  settled.catch(() => {});
  for (let rounds = 0; !isSettled; rounds++) {
    for (let turns = 0; turns < 200 && !isSettled; turns++) await turn();
    // After so many rounds nothing is being computed any more: only time is left to wait for.
    if (!isSettled && (clock.pending() > calls * TIMERS_OF_A_CALL || rounds > 1000)) await clock.advance(100);
  }
  return settled;
};

/** A journal file that does something else before it does what it should. */
export const bentFile = (
  file: JournalFile,
  {
    append = async () => {},
    read = async () => {},
  }: { append?: (line: string) => Promise<void>; read?: () => Promise<void> },
): JournalFile => ({
  async append(line) {
    await append(line);
    return file.append(line);
  },
  async readNew() {
    await read();
    return file.readNew();
  },
});

/** As on a network: whoever stops waiting hears nothing more, whatever the relay still does. */
export const impatient =
  (direct: HttpClient): HttpClient =>
  (sent) =>
    untilAborted(direct(sent), sent.signal);

export const waitFor = ({ clock }: World, ms: number): Promise<void> =>
  new Promise((resolve) => void clock.after(ms, resolve));
