import { GATEHOUSE_METADATA_KEY } from '../../core/http/agent-api.ts';
import type { Session } from './types.ts';

/** A session without the name of a conversation: a copy of one has no conversation. */
export const withoutConversationName = ({ metadata, ...session }: Session): Session => {
  const { [GATEHOUSE_METADATA_KEY]: _, ...others } = metadata ?? {};
  return Object.keys(others).length === 0 ? session : { ...session, metadata: others };
};

/** A session with the name of the conversation that goes on in it, for whoever lists sessions. One without a name is left alone. */
export const withConversationName = (
  session: Session,
  { owner, name }: { readonly owner: string; readonly name?: string | undefined },
): Session =>
  name === undefined
    ? session
    : { ...session, metadata: { ...session.metadata, [GATEHOUSE_METADATA_KEY]: { owner, name } } };
