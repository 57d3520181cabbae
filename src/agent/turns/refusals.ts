import { Fault } from '../../core/fault.ts';

/** Why a request about turns is refused, each with its status. */
export const REFUSALS = {
  key_reused: 400,
  missing_results: 400,
  unknown_call: 400,
  turn_not_found: 404,
  conversation_not_found: 404,
  message_not_found: 404,
  no_such_request: 404,
  turn_aborted: 409,
  turn_running: 409,
  turn_waiting: 409,
  conversation_changed: 409,
  conversation_busy: 409,
  not_added: 409,
  name_taken: 409,
  conversation_full: 503,
} as const;

const MESSAGES: Readonly<Record<keyof typeof REFUSALS, string>> = {
  key_reused: 'key: an earlier request with this key was another one',
  missing_results: 'input: other calls of the same answer have no result yet',
  unknown_call: 'input: a result is of no call of the conversation that waits for one',
  turn_not_found: 'this turn was not found',
  conversation_not_found: 'this conversation was not found',
  message_not_found: 'this message was not found',
  no_such_request: 'this permission request is not open in the conversation',
  turn_aborted:
    'An equal request was aborted after it had called tools, and is not begun again. Look at their effects first',
  turn_waiting: 'A turn of the conversation waits for decisions on permission requests',
  turn_running: 'The turn is under way. Cancel it first',
  conversation_changed: 'Other requests changed the conversation again and again. Send this one again',
  conversation_busy: 'The conversation is answering',
  not_added: 'This message is of a turn, and is not removed alone',
  name_taken: 'name: another conversation has this name',
  conversation_full: 'Too many prompts wait in this conversation',
};

/** A request about turns that is refused. `more` is what a program needs to know, in the body of the error. */
export type TurnRefusal = {
  readonly kind: 'turn-refused';
  readonly code: keyof typeof REFUSALS;
  readonly message: string;
  readonly more: Readonly<Record<string, readonly string[]>>;
};

/** The fault of a refused request. */
export const turnRefusal = (code: TurnRefusal['code'], more: TurnRefusal['more'] = {}): Fault<TurnRefusal> =>
  new Fault<TurnRefusal>({ kind: 'turn-refused', code, message: MESSAGES[code], more });

/** Whether something was refused for this reason. */
export const isRefusal = (error: unknown, code: TurnRefusal['code']): boolean =>
  error instanceof Fault && 'code' in error.detail && error.detail.code === code;
