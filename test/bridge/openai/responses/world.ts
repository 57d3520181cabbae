import { NO_ECHO } from '../../../../src/bridge/openai/responses/echo.ts';
import type { ResponseStart } from '../../../../src/bridge/openai/responses/response.ts';
import type { AgentToolCall, OutputEvent } from '../../../../src/bridge/output.ts';
import { textOfParts } from '../../../../src/bridge/request.ts';
import type { SentMessage } from '../../../../src/bridge/turns/port.ts';

/** What every response is called here. The second one of a world ends in 2, and so on. */
export const responseID = (count = 1): string => `resp_${String(count).padStart(12, '0')}Abcdefghijklmn`;
/** Where its items are. */
export const placeOf = (id: string, custom: readonly string[] = []) => ({
  responseID: id,
  sessionID: 'ses_00000000000bSessionsess12',
  custom: new Set(custom),
});
export const NOW_SECONDS = 1_800_000_000;

export const callOf = (id: string, name: string, input: object = {}): AgentToolCall => ({
  id,
  name,
  input: JSON.stringify(input),
});
export const began = (call: AgentToolCall): OutputEvent => ({ kind: 'call', call });
export const returned = (call: AgentToolCall, output: string, isError = false): OutputEvent => ({
  kind: 'call-end',
  call,
  output,
  isError,
});

const LIST = callOf('call_1', 'relay-admin_list_users', { page: 1 });
const SHELL = callOf('call_2', 'bash', { command: 'ls' });
/** Two calls beside each other. The second one ends first, and fails. */
export const BESIDE: readonly OutputEvent[] = [
  began(LIST),
  began(SHELL),
  returned(SHELL, 'no such', true),
  returned(LIST, '5'),
];

export const startOf = (more: Partial<ResponseStart> = {}): ResponseStart => ({
  place: placeOf(responseID()),
  model: 'acme/small',
  echo: NO_ECHO,
  createdSeconds: NOW_SECONDS,
  nowSeconds: () => NOW_SECONDS,
  ...more,
});

const wordsOf = (message: SentMessage): string => {
  if (message.role === 'user') return textOfParts(message.parts);
  return (message.role === 'tool' ? message.output : (message.text ?? '')).replace(/\s+/g, ' ');
};
/** Messages in short: their words, with single blanks. */
export const inShort = (messages: readonly SentMessage[] = []) =>
  messages.map((message) => ({ role: message.role, text: wordsOf(message) }));
