import type { ApprovalRequest } from '../../output.ts';
import { addAnswer, textOfParts } from '../../request.ts';
import type { SentMessage } from '../../turns/port.ts';
import { readDecision } from './decisions.ts';
import { toProblemText } from './replies.ts';
import { splitApprovalText } from './text.ts';

// A client's history has the bridge's texts about approvals in it, and the messages that answered them. The agent's conversation has
// neither: an approval is no message there.

/** A history as the agent has it. `shown`: the short ids of the requests that its last answer shows. */
type AgentHistory = { readonly messages: readonly SentMessage[]; readonly shown: readonly string[] };

/** Ids as the texts show them: a decision may name the whole one. */
const withShortIDs = (text: string): string => text.replace(/\bper_\w*?(\w{6})\b/gi, '$1');

const toRequest = ({ id, tool }: { readonly id: string; readonly tool: string }): ApprovalRequest => ({
  ...{ id, tool, sessionID: '', input: '', notes: [] },
});

const NONE_OPEN = toProblemText({ kind: 'none-open' }, []).slice(0, 50);
const DECIDED = /^(?:(?:Approved|Rejected|Not approved, because the input is cut): [^\n]*?\.(?= |\n\n|$) ?)+(?:\n\n|$)/;

/** The rest of an answer after a text of the bridge with which it begins. */
const without = (text: string, beginning: string): string => text.slice(beginning.length).trimStart();

/** The texts with which the bridge may have answered a message that decided nothing. */
const explanationsOf = (text: string, shown: readonly ApprovalRequest[]): readonly string[] => {
  const read = readDecision({ decisions: undefined, text }, { open: shown, shown });
  const decisions =
    read?.kind === 'unclear'
      ? read.decisions
      : (read?.verdicts ?? []).map(({ request, reply }) => ({ isApproved: reply.reply === 'once', ids: [request.id] }));
  const closed = shown.map(({ id }) => toProblemText({ kind: 'closed', id }, decisions));
  return read?.kind === 'unclear' ? [toProblemText(read.problem, read.decisions), ...closed] : closed;
};

/** An answer without the text of the bridge about the message before it. Undefined where that message was a prompt. */
const afterDecision = (text: string, asked: string, shown: readonly ApprovalRequest[]): string | undefined => {
  if (text.startsWith(NONE_OPEN)) return without(text, text.split('\n\n')[0] ?? '');
  if (shown.length === 0) return undefined;
  const explanation = explanationsOf(asked, shown).find((one) => text.startsWith(one));
  if (explanation !== undefined) return without(text, explanation);
  const read = readDecision({ decisions: undefined, text: asked }, { open: shown, shown });
  if (read?.kind !== 'decided') return undefined;
  const [line] = DECIDED.exec(text) ?? [];
  return line !== undefined && shown.some(({ id }) => line.includes(`(${id})`)) ? without(text, line) : text;
};

/**
 * A client's history as the agent has it: without the texts of the bridge about approvals, and without the messages that were no prompts
 * but answered them. The two parts of an answer that an approval divides are one.
 */
export const withoutApprovals = (history: readonly SentMessage[]): AgentHistory => {
  const messages: SentMessage[] = [];
  let shown: readonly ApprovalRequest[] = [];
  /** Messages of the user since the last answer, which may have been decisions. */
  let asked: SentMessage[] = [];
  for (const message of history) {
    if (message.role === 'tool') {
      messages.push(...asked, message);
      asked = [];
    } else if (message.role === 'user') asked.push(message);
    else {
      const words = asked.map((one) => (one.role === 'user' ? textOfParts(one.parts) : '')).join('\n\n');
      const { text, requests } = splitApprovalText(message.text ?? '');
      const rest = asked.length === 0 ? undefined : afterDecision(text, withShortIDs(words), shown);
      if (rest === undefined) messages.push(...asked);
      asked = [];
      shown = requests.map(toRequest);
      addAnswer(messages, { ...message, text: rest ?? text });
    }
  }
  return { messages: [...messages, ...asked], shown: shown.map(({ id }) => id) };
};
