import type { ToolPart } from './protocol/types.ts';
import type { Action } from './session.ts';
import type { Told } from './store/store.ts';
import type { Approvals } from './tools/approvals.ts';
import { previewWordsFor } from './tools/permission-check.ts';
import type { AgentTool, ToolOutcome } from './tools/tool.ts';

export type LeaveNeeds = {
  readonly directory: string;
  readonly tools: readonly AgentTool[];
  /** What the rules say at this moment: they may change while a turn runs. */
  readonly ruling: (tool: string, patterns: readonly string[]) => Promise<Action>;
  readonly approvals: Approvals;
  readonly said: () => Promise<readonly Told[]>;
};

/** Why a call was not made, in words for the model, and whether a person said no to more than this call. */
export type Refusal = { readonly outcome: ToolOutcome; readonly end: 'done' | 'rejected' };

/** An outcome that the model hears of as an error. */
export const errorOutcome = (output: string): ToolOutcome => ({ output, title: '', metadata: {}, isError: true });

const DENIED = 'A permission rule of this server denies this call. Do not try it again in another form.';
const REJECTED = 'The user rejected this call.';
const EXPIRED = 'Nobody answered the question whether this call may be made, so it was not made.';

/** Whether a call may be made, by the rules or by what a person says: nothing when it may. */
export const createLeave =
  ({ directory, tools, ruling, approvals, said }: LeaveNeeds) =>
  async (part: ToolPart, tool: AgentTool, signal: AbortSignal): Promise<Refusal | undefined> => {
    const { input } = part.state;
    const patterns = tool.patternsOf(input);
    const action = await ruling(tool.name, patterns);
    if (action === 'allow') return undefined;
    const denied: Refusal = { outcome: errorOutcome(DENIED), end: 'done' };
    if (action === 'deny') return denied;
    const { sessionID, messageID, callID } = part;
    const metadata = { tool: tool.name, input, ...(await previewWordsFor({ tool, tools, input, said })) };
    const question = { sessionID, permission: tool.name, patterns, metadata, always: patterns };
    const reply = await approvals.ask(directory, { ...question, tool: { messageID, callID } }, signal);
    // The rules may say another thing than when the question was asked.
    if (reply.reply === 'once' || reply.reply === 'always')
      return (await ruling(tool.name, patterns)) === 'deny' ? denied : undefined;
    if (reply.reply === 'expired') return { outcome: errorOutcome(EXPIRED), end: 'rejected' };
    if (reply.message === undefined) return { outcome: errorOutcome(REJECTED), end: 'rejected' };
    return { outcome: errorOutcome(`${REJECTED} They say: ${reply.message}`), end: 'done' };
  };
