import type { Clock } from '../core/clock.ts';
import type { EventDraft } from './event.ts';
import { messageErrorOf, RunAborted } from './message-error.ts';
import type { Part } from './part.ts';
import { partUpdated } from './part-facts.ts';
import type { Publisher } from './publisher.ts';
import type { Change, Store } from './store.ts';

/** A part that was being made when the process ended, as it stays. */
const settled = (part: Part, now: number): Part | undefined => {
  if (part.type === 'tool' && (part.state.status === 'pending' || part.state.status === 'running')) {
    const start = part.state.status === 'running' ? part.state.time.start : now;
    const error = 'The server was stopped while this call was under way';
    return { ...part, state: { status: 'error', input: part.state.input, error, time: { start, end: now } } };
  }
  if ((part.type === 'text' || part.type === 'reasoning') && part.time !== undefined && part.time.end === undefined) {
    return { ...part, time: { start: part.time.start, end: now } };
  }
  return undefined;
};

/** Ends what a process that was killed left unfinished, so that no session waits for an answer that nobody gives. */
export const recover = async (
  store: Pick<Store, 'unfinished'>,
  { publisher, clock }: { readonly publisher: Publisher; readonly clock: Clock },
): Promise<number> => {
  const left = await store.unfinished();
  for (const { info, parts } of left) {
    if (info.role !== 'assistant') continue;
    const now = clock.now();
    const ended = parts.map((part) => settled(part, now)).filter((part) => part !== undefined);
    const error = messageErrorOf(new RunAborted(), info.providerID);
    const message = { ...info, error, time: { ...info.time, completed: now } };
    const changes: Change[] = [...ended.map((part) => ({ kind: 'part' as const, part })), { kind: 'message', message }];
    const drafts: EventDraft[] = [
      ...ended.map((part) => partUpdated(part, now)),
      { type: 'message.updated', properties: { sessionID: info.sessionID, info: message } },
    ];
    await publisher.publish(info.path.cwd, { changes, drafts });
  }
  return left.length;
};
