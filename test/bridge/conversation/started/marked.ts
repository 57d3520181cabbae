import { EMPTY_FINGERPRINT } from '../../../../src/bridge/conversation/fingerprint.ts';
import type { StoredConversation } from '../../../../src/bridge/conversation/record.ts';
import { responseTokenOf } from '../../../../src/bridge/conversation/response-id.ts';
import type { MarkedConversation } from '../../../../src/bridge/conversation/started/marks.ts';
import type { RequestMark } from '../../../../src/bridge/conversation/types.ts';

export const OWNER = 'owner';
export const TOKEN = 'token00000001';

/** A conversation of a session at the agent, with the mark of its last request: by default one without a key, not yet answered. */
export const marked = (
  mark: Partial<RequestMark> = {},
  conversation: Partial<StoredConversation> = {},
): MarkedConversation => ({
  sessionID: 'ses_1',
  owner: OWNER,
  name: 'chat_1',
  isNamed: false,
  fingerprint: EMPTY_FINGERPRINT,
  tail: [],
  stoppedAt: undefined,
  hasReplay: false,
  exchanges: [],
  claim: undefined,
  revision: 1,
  otherMetadata: {},
  createdAt: 0,
  usedAt: 0,
  isUpToDate: true,
  ...conversation,
  request: { digest: 'digest', token: TOKEN, createdSeconds: 0, ...mark },
});

/** The exchanges of a conversation in which the answer with this token was recorded. */
export const answered = (token = TOKEN): Pick<StoredConversation, 'exchanges'> => ({
  exchanges: [{ token: responseTokenOf(token), promptID: 'msg_1' }],
});
