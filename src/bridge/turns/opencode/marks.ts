import * as v from 'valibot';
import { GATEHOUSE_METADATA_KEY } from '../../../core/http/agent-api.ts';
import type { SessionRecord } from './session-client.ts';
import { addConversation, type KnownConversation, type TurnsState } from './state.ts';

/** The newest sessions, which are looked at once. */
const SESSIONS_LIMIT = 10_000;

const Mark = v.object({
  id: v.string(),
  owner: v.string(),
  name: v.optional(v.string()),
  isOfClient: v.boolean(),
  createdMs: v.number(),
  metadata: v.record(v.string(), v.unknown()),
});
const MarkedSession = v.object({ [GATEHOUSE_METADATA_KEY]: v.object({ conversation: Mark }) });

/** The metadata of a session by which its conversation is found after a restart of the bridge, and by its name in the console. */
export const markOf = (known: KnownConversation): Readonly<Record<string, unknown>> => {
  const { owner, name } = known;
  return { [GATEHOUSE_METADATA_KEY]: { owner, name, conversation: v.parse(Mark, known) } };
};

const readMark = ({ id, metadata }: SessionRecord): KnownConversation | undefined => {
  const read = v.safeParse(MarkedSession, metadata);
  if (!read.success) return undefined;
  const { conversation } = read.output[GATEHOUSE_METADATA_KEY];
  return { ...conversation, sessionID: id, tip: undefined, addedIDs: new Set() };
};

/** Reads the conversations of an earlier process, once. */
export const readMarks = async (state: TurnsState, signal: AbortSignal): Promise<void> => {
  if (state.hasMarks) return;
  const sessions = await state.needs.agent.sessions(SESSIONS_LIMIT, signal);
  if (state.hasMarks) return;
  state.hasMarks = true;
  // A conversation that has moved is in the session that was created last.
  for (const session of sessions.toSorted((left, right) => left.time.created - right.time.created)) {
    const found = readMark(session);
    const known = found && state.conversations.get(found.id);
    // One whose history is known is of this process.
    if (found !== undefined && known?.tip === undefined) addConversation(state, found);
  }
};
