import type { Fact } from './events/publisher.ts';
import type { SessionStatus } from './session.ts';

/** What a session does, told. Nothing is kept of it. */
export const statusFact = (sessionID: string, status: SessionStatus): Fact => ({
  drafts: [
    { type: 'session.status', properties: { sessionID, status } },
    ...(status.type === 'idle' ? [{ type: 'session.idle' as const, properties: { sessionID } }] : []),
  ],
});
