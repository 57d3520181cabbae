import type { Message } from './message.ts';
import type { Session } from './session.ts';
import type { Told } from './store/store.ts';
import { droppedBy, saidBefore } from './turned-back.ts';

/** `Plan` becomes `Plan (fork #1)`, and that `Plan (fork #2)`. */
export const forkedTitle = (title: string): string => {
  const [, first, count] = /^(.+) \(fork #(\d{1,9})\)$/s.exec(title) ?? [];
  return first === undefined ? `${title} (fork #1)` : `${first} (fork #${Number(count) + 1})`;
};

const promptOf = (info: Message): string => (info.role === 'user' ? info.id : info.parentID);

/**
 * What is over: neither answers that are under way, nor what they answer, nor prompts that wait. Where nothing is under way, a
 * prompt without an answer is one that nobody was to answer.
 */
export const finishedOf = (messages: readonly Told[], isBusy: boolean): readonly Told[] => {
  const answers = messages.flatMap(({ info }) => (info.role === 'assistant' ? [info] : []));
  const open = new Set(answers.filter(({ time }) => time.completed === undefined).map(promptOf));
  const answered = new Set(answers.map(promptOf));
  const lastAnswered = messages.findLastIndex(({ info }) => info.role === 'user' && answered.has(info.id));
  const waits = ({ info }: Told, place: number): boolean =>
    isBusy && info.role === 'user' && !answered.has(info.id) && place > lastAnswered;
  return messages.filter((told, place) => !open.has(promptOf(told.info)) && !waits(told, place));
};

/** The messages without those, and without the parts, that go with the next prompt. */
const withoutDropped = (messages: readonly Told[], { revert }: Session): readonly Told[] => {
  if (revert === undefined) return messages;
  const { messageIDs, parts } = droppedBy(messages, revert);
  const gone = new Set([...messageIDs, ...parts.map(({ id }) => id)]);
  return messages
    .filter(({ info }) => !gone.has(info.id))
    .map((told) => ({ ...told, parts: told.parts.filter(({ id }) => !gone.has(id)) }));
};

/** What a fork has of a session's messages: those before one of them, if one is named, as far as they are over and hold. */
export const forkedOf = (
  session: Session,
  messages: readonly Told[],
  { before, isBusy }: { readonly before: string | undefined; readonly isBusy: boolean },
): readonly Told[] => {
  const kept = new Set((before === undefined ? messages : saidBefore(messages, before)).map(({ info }) => info.id));
  return finishedOf(withoutDropped(messages, session), isBusy).filter(({ info }) => kept.has(info.id));
};
