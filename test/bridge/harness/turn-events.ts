import type {
  AgentEventRecord,
  AssistantInfo,
  MessageRecord,
  PartRecord,
  PermissionRecord,
} from '../../../src/bridge/agent/schema.ts';
import type { LogItem, TurnLog } from '../../../src/bridge/turn/log.ts';

export const SESSION = 'ses_1';

export const userInfo = (id: string, sessionID = SESSION) => ({ id, sessionID, role: 'user' as const });

export const tokensOf = (input: number, output: number, reasoning = 0, read = 0, write = 0) => ({
  input,
  output,
  reasoning,
  cache: { read, write },
});

export const assistantInfo = (id: string, parentID: string, more: Partial<AssistantInfo> = {}): AssistantInfo => ({
  ...{ id, parentID, sessionID: SESSION, role: 'assistant', modelID: 'main', providerID: 'fake' },
  ...{ time: { created: 1 }, tokens: undefined, summary: undefined },
  ...more,
});

export const completed = (id: string, parentID: string, more: Partial<AssistantInfo> = {}): AssistantInfo =>
  assistantInfo(id, parentID, { time: { created: 1, completed: 2 }, finish: 'stop', ...more });

type Flags = { readonly isOver?: boolean; readonly synthetic?: boolean; readonly ignored?: boolean };

export const textPart = (
  id: string,
  messageID: string,
  text: string,
  { isOver = false, ...flags }: Flags = {},
): Extract<PartRecord, { type: 'text' | 'reasoning' }> => ({
  ...{ id, messageID, sessionID: SESSION, type: 'text', text },
  ...{ synthetic: undefined, ignored: undefined, metadata: undefined, ...flags },
  time: isOver ? { end: 2 } : undefined,
});
export const thoughtPart = (...given: Parameters<typeof textPart>): PartRecord => ({
  ...textPart(...given),
  type: 'reasoning',
});

type ToolState = Extract<PartRecord, { type: 'tool' }>['state'];
export const toolPart = (id: string, messageID: string, state: ToolState, tool = 'look'): PartRecord => ({
  ...{ id, messageID, sessionID: SESSION, type: 'tool', callID: `call_${id}`, tool, state },
});
export const PENDING: ToolState = { status: 'pending', input: {} };
export const running = (input = {}): ToolState => ({ status: 'running', input });
export const done = (output: string, input = {}): ToolState => ({ status: 'completed', input, output });
export const broken = (error: string, more: object = {}): ToolState => ({ status: 'error', input: {}, error, ...more });
export const otherPart = (id: string, messageID: string): PartRecord => ({
  ...{ id, messageID, sessionID: SESSION, type: 'other' },
});

export const reported = (info: AssistantInfo | ReturnType<typeof userInfo>): AgentEventRecord => ({
  type: 'message.updated',
  properties: { info },
});
export const shown = (part: PartRecord): AgentEventRecord => ({ type: 'message.part.updated', properties: { part } });
export const more = (partID: string, messageID: string, delta: string, field = 'text'): AgentEventRecord => ({
  type: 'message.part.delta',
  properties: { sessionID: SESSION, messageID, partID, field, delta },
});
export const born = (id: string, parentID?: string): AgentEventRecord => ({
  type: 'session.created',
  properties: {
    info: { id, ...(parentID === undefined ? {} : { parentID }), time: { created: 1, updated: 1 } },
  },
});
export const ask = (id: string, sessionID = SESSION, permission = 'pay'): PermissionRecord => ({
  ...{ id, sessionID, permission, metadata: { input: { amount: 5 } } },
});
export const asked = (record: PermissionRecord): AgentEventRecord => ({ type: 'permission.asked', properties: record });
export const replied = (requestID: string, sessionID = SESSION): AgentEventRecord => ({
  type: 'permission.replied',
  properties: { sessionID, requestID },
});
export const questioned = (id: string, sessionID = SESSION): AgentEventRecord => ({
  type: 'question.asked',
  properties: { id, sessionID },
});

/** What a text comes to at an agent that tells it word by word. */
export const textEventsIn = (id: string, messageID: string, ...words: readonly string[]): AgentEventRecord[] => [
  shown(textPart(id, messageID, '')),
  ...words.map((word) => more(id, messageID, word)),
  shown(textPart(id, messageID, words.join(''), { isOver: true })),
];

export const record = (info: MessageRecord['info'], ...parts: readonly PartRecord[]): MessageRecord => ({
  info,
  parts: [...parts],
});

/** An item in short: `text: words`, `reasoning: words`, `call look {}: output`. */
export const shortOf = (item: LogItem): string => {
  if (item.kind !== 'call') return `${item.kind}: ${item.pieces.join('')}`;
  const { call, result } = item;
  const outcome = result === undefined ? '...' : `${result.isError ? 'failed ' : ''}${result.output}`;
  return `call ${call.name} ${call.input}: ${outcome}`;
};
export const itemsIn = (log: TurnLog): readonly string[] => log.items().map(shortOf);
