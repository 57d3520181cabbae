import type { EventDraft } from '../../../src/agent/protocol/events.ts';
import { createIds, type Ids } from '../../../src/agent/protocol/ids.ts';
import type { PermissionRequest } from '../../../src/agent/protocol/permissions.ts';
import {
  type AssistantMessage,
  NO_TOKENS,
  type Session,
  type TextPart,
  type ToolPart,
  type UserMessage,
} from '../../../src/agent/protocol/types.ts';

import { createFakeClock } from '../../fake-clock.ts';

const DIRECTORY = '/srv/desk';
const CREATED = Date.UTC(2026, 0, 1);

/** Ids of a clock that stands still, with tails that anyone can foresee. */
export const idsFrom = (start?: number): Ids => {
  let drawn = 0;
  return createIds(createFakeClock(start), (count) => {
    drawn += 1;
    return new Uint8Array(count).fill(drawn % 62);
  });
};

export const sessionOf = (id: string, more: Partial<Session> = {}): Session => ({
  id,
  slug: 'quiet-river',
  projectID: 'global',
  directory: DIRECTORY,
  title: 'New session',
  version: '0.1.0',
  cost: 0,
  tokens: NO_TOKENS,
  time: { created: CREATED, updated: CREATED },
  ...more,
});

export const userMessage = (id: string, sessionID: string): UserMessage => ({
  id,
  sessionID,
  role: 'user',
  time: { created: CREATED },
  agent: 'build',
  model: { providerID: 'local', modelID: 'small' },
});

export const answer = (id: string, sessionID: string, more: Partial<AssistantMessage> = {}): AssistantMessage => ({
  id,
  sessionID,
  role: 'assistant',
  parentID: 'msg_0',
  mode: 'build',
  agent: 'build',
  modelID: 'small',
  providerID: 'local',
  path: { cwd: DIRECTORY, root: DIRECTORY },
  time: { created: CREATED },
  cost: 0,
  tokens: NO_TOKENS,
  ...more,
});

type Place = { readonly id: string; readonly messageID: string; readonly sessionID: string };

export const textPart = (place: Place, text: string): TextPart => ({ ...place, type: 'text', text });

export const toolPart = (place: Place): ToolPart => ({
  ...place,
  type: 'tool',
  callID: 'call_1',
  tool: 'demo_echo',
  state: { status: 'running', input: { words: ['a', null, 1.5] }, time: { start: CREATED } },
});

export const permissionRequest = (id: string, sessionID = 'ses_1'): PermissionRequest => ({
  id,
  sessionID,
  permission: 'pay',
  patterns: ['*'],
  metadata: {},
  always: ['*'],
  tool: { messageID: 'msg_1', callID: 'call_1' },
  agent: 'assistant',
  argumentsHash: '0'.repeat(64),
  time: { asked: 1, ends: 60_001 },
});
export const deltaOf = (sessionID: string, delta: string): EventDraft => ({
  type: 'message.part.delta',
  properties: { sessionID, messageID: 'msg_1', partID: 'prt_1', field: 'text', delta, at: 0 },
});

/** Something that happened, told in a directory. */
export const reported = (text: string, directory = DIRECTORY, sessionID = 'ses_1') => ({
  directory,
  draft: deltaOf(sessionID, text),
});
