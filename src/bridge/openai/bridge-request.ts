import { type BridgeRequest, type ConversationReference, userTextIn } from '../request.ts';
import { parseTextFormat } from './answer-format.ts';
import { parseApprovalHeader } from './approvals.ts';
import { isBackgroundTask } from './background-tasks.ts';
import { parseClientTools } from './client-tools.ts';
import { parseConversationReference, UNNAMED } from './conversation-id.ts';
import type { Dialogue } from './dialogue.ts';
import { ignoredParameters, type ParameterTable, valueAt } from './parameters.ts';

/** A request whose members and messages were read by its endpoint. */
type Given = {
  readonly body: Readonly<Record<string, unknown>>;
  readonly headers: Headers;
  readonly parameters: ParameterTable;
  /** The path of the answer's form. */
  readonly formatAt: 'response_format' | 'text.format';
  readonly dialogue: Dialogue;
  readonly model?: string | null | undefined;
  readonly effort?: string | null | undefined;
  readonly stream?: boolean | null | undefined;
  readonly store?: boolean | null | undefined;
  readonly isBackground?: boolean;
  /** What the client names before any header; undefined: nothing. */
  readonly conversation?: ConversationReference | undefined;
  /** Whether it may be a task of a front end. */
  readonly mayBeTask?: boolean;
};

/** A blank name or id is the same as none. */
export const nonEmpty = (value: string | null | undefined): string | undefined => value?.trim() || undefined;

/** A request as the bridge keeps it, whichever endpoint it came by. Faults with `bad-input`. */
export const toBridgeRequest = (given: Given): BridgeRequest => {
  const { body, headers, formatAt, dialogue, isBackground = false, mayBeTask = true } = given;
  const { system, history, input } = dialogue;
  const clientTools = parseClientTools(body);
  const isStreamed = given.stream === true;
  const traits = { system, promptText: userTextIn(input), hasHistory: history.length > 0, isStreamed };
  const isOwnTask = mayBeTask && isBackgroundTask(traits);
  const effort = nonEmpty(given.effort);
  const conversation = isOwnTask ? UNNAMED : given.conversation;
  return {
    ...dialogue,
    model: nonEmpty(given.model),
    isStreamed,
    isBackground,
    effort: effort === 'none' ? undefined : effort,
    isStored: given.store !== false,
    conversation: conversation ?? parseConversationReference(headers, body, isStreamed),
    isBackgroundTask: isOwnTask,
    approval: parseApprovalHeader(headers),
    format: parseTextFormat(valueAt(body, formatAt), formatAt),
    clientTools: isOwnTask ? undefined : clientTools,
    ignored: ignoredParameters(body, given.parameters),
  };
};
