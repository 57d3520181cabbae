import { isRecord, parseJsonValue } from '../../core/json.ts';
import { collectRules, decideAction, type RuleScope } from '../protocol/permission-rules.ts';
import { ALWAYS_MS } from '../protocol/permissions.ts';
import type { Action, Rule, Session, ToolPart } from '../protocol/types.ts';
import type { MessageWithParts, Store } from '../store/store.ts';
import { type Approvals, TOO_LONG_TO_ASK } from './approvals.ts';
import type { TaskTracker } from './task.ts';
import { type AgentTool, CALL_REFUSED, type ToolOutcome } from './tool.ts';

/** What a person reads of a preview: texts of the tool's own result, or ours where none can be shown. */
type Preview = Readonly<Record<string, unknown>>;

/** The tool whose results are shown in permission requests for the other tools of its server. */
const PREVIEW_TOOL = 'preview_recharge';

const UNKNOWN =
  'No preview of this token is known in this session, so it is not known what the call would do, and to whom. Reject it unless you know';
const CONTRADICTORY =
  'The tool server has previewed this token more than once, and not with the same words, so none of them are shown. Reject the call';

const pickTexts = (value: unknown, names: readonly string[]): Preview =>
  Object.fromEntries(
    names.flatMap((name) => (isRecord(value) && typeof value[name] === 'string' ? [[name, value[name]]] : [])),
  );

const parsePreview = (output: unknown, token: string): Preview | undefined => {
  if (!isRecord(output) || output.preview_token !== token || typeof output.summary !== 'string') return undefined;
  const user = pickTexts(output.user, ['email', 'username', 'status', 'role']);
  const figures = pickTexts(output, ['amount', 'balance_now', 'balance_after', 'expires_at']);
  return {
    summary: output.summary,
    ...(Object.keys(user).length === 0 ? {} : { user }),
    warnings: output.warnings ?? [],
    ...(Object.keys(figures).length === 0 ? {} : { figures }),
  };
};

/** The preview tool of the server that a tool really comes from, whatever the names of other tools. */
const findPreviewTool = ({ origin }: AgentTool, tools: readonly AgentTool[]): AgentTool | undefined =>
  origin === undefined
    ? undefined
    : tools.find((other) => other.origin?.server === origin.server && other.origin.tool === PREVIEW_TOOL);

const findPreviews = (messages: readonly MessageWithParts[], tool: string, token: string): readonly Preview[] =>
  messages
    .flatMap(({ parts }) => parts)
    .flatMap((part) =>
      part.type === 'tool' && part.tool === tool && part.state.status === 'completed' ? [part.state] : [],
    )
    .map(({ output }) => parsePreview(parseJsonValue(output), token))
    .filter((preview) => preview !== undefined);

const agreedPreview = (previews: readonly Preview[]): Preview => {
  const [first, ...more] = previews;
  if (first === undefined) return { summary: UNKNOWN, warnings: [] };
  const isAgreed = more.every((other) => JSON.stringify(other) === JSON.stringify(first));
  return isAgreed ? first : { summary: CONTRADICTORY, warnings: [] };
};

type PreviewNeeds = {
  readonly tool: AgentTool;
  /** All that the agent has. */
  readonly tools: readonly AgentTool[];
  readonly input: Readonly<Record<string, unknown>>;
  /** Reads the messages of the session, some at a time. Only where a preview may be in them. */
  readonly readMessages: () => AsyncIterable<readonly MessageWithParts[]>;
};

/**
 * What a person should see beside the arguments of a call: when one of them is the token of a preview, the user and the
 * summary of that preview. Only results of the same tool server count: a model or another tool may invent one.
 */
export const previewMetadata = async ({ tool, tools, input, readMessages }: PreviewNeeds): Promise<Preview> => {
  if (!Object.hasOwn(input, 'preview_token')) return {};
  const token = input.preview_token;
  const sibling = findPreviewTool(tool, tools);
  if (sibling === undefined || typeof token !== 'string') return { preview: agreedPreview([]) };
  const previews: Preview[] = [];
  for await (const messages of readMessages()) previews.push(...findPreviews(messages, sibling.name, token));
  // Apart from the texts, which are shown as they are: for programs that show the figures each in its place.
  const { figures, ...preview } = agreedPreview(previews);
  return { preview, ...(figures === undefined ? {} : { figures }) };
};

/** What the permission rules say at this moment: they may change while a turn runs. `allowed`: what people allowed besides. */
export type CurrentAction = (tool: string, patterns: readonly string[], allowed?: readonly Rule[]) => Promise<Action>;

/** Who makes calls, and what decides about them. */
export type PermissionCheckNeeds = {
  readonly directory: string;
  /** The agent that makes the calls. */
  readonly agent: string;
  readonly tools: readonly AgentTool[];
  readonly currentAction: CurrentAction;
  readonly approvals: Approvals;
  /** Reads the messages of the session, some at a time. */
  readonly readMessages: () => AsyncIterable<readonly MessageWithParts[]>;
};

/** Why a call was not made, as a text for the model, and whether a person rejected more than this call. */
type CallRefusal = { readonly outcome: ToolOutcome; readonly end: 'done' | 'rejected' };

/** An outcome that the model gets as an error. */
export const errorOutcome = (output: string): ToolOutcome => ({ output, title: '', metadata: {}, isError: true });

const DENIED = 'A permission rule of this server denies this call. Do not try it again in another form.';

/** Checks a call against the rules, and requests a person's approval where they say so. Undefined when the call may run. */
export const createPermissionCheck =
  ({ directory, agent, tools, currentAction, approvals, readMessages }: PermissionCheckNeeds) =>
  async (part: ToolPart, tool: AgentTool, signal: AbortSignal): Promise<CallRefusal | undefined> => {
    if (tool.isFree === true) return undefined;
    const { input } = part.state;
    const patterns = tool.patternsFor(input);
    const action = await currentAction(tool.name, patterns);
    if (action === 'allow') return undefined;
    const denied: CallRefusal = { outcome: errorOutcome(DENIED), end: 'done' };
    if (action === 'deny') return denied;
    const argumentsHash = approvals.hashArguments(input);
    if (argumentsHash === undefined) return { outcome: errorOutcome(TOO_LONG_TO_ASK), end: 'done' };
    const { sessionID, messageID, callID } = part;
    const preview = await previewMetadata({ tool, tools, input, readMessages });
    const metadata = { tool: tool.name, input, ...preview };
    const origin = tool.origin === undefined ? {} : { origin: tool.origin };
    const place = { tool: { messageID, callID }, ...origin };
    const call = { sessionID, permission: tool.name, patterns, agent, argumentsHash, ...place };
    const alwaysRefused = approvals.standing.refusalFor(tool, metadata);
    const isAllowed = async (rules: readonly Rule[]): Promise<boolean> =>
      (await currentAction(tool.name, patterns, rules)) === 'allow';
    if (alwaysRefused === undefined && (await approvals.standing.use(call, isAllowed))) return undefined;
    const always =
      alwaysRefused === undefined ? { always: patterns, alwaysMs: ALWAYS_MS } : { always: [], alwaysRefused };
    const reply = await approvals.request(directory, { ...call, metadata, ...always }, signal);
    // The rules may have changed while the request was open.
    if (reply.reply === 'once' || reply.reply === 'always')
      return (await currentAction(tool.name, patterns)) === 'deny' ? denied : undefined;
    if (reply.reply !== 'reject') return { outcome: errorOutcome(CALL_REFUSED[reply.reply]), end: 'rejected' };
    if (reply.message === undefined) return { outcome: errorOutcome(CALL_REFUSED.rejected), end: 'rejected' };
    return { outcome: errorOutcome(`${CALL_REFUSED.rejected} Their message: ${reply.message}`), end: 'done' };
  };

/** What the rules say of a call now, and not when its turn began. A session that was removed allows nothing. */
export const createPermissionActions = (
  { store }: { readonly store: Pick<Store, 'session'> },
  taskTracker: Pick<TaskTracker, 'parentOf'>,
) => {
  /** The sessions that this one works for at the moment. */
  const ancestorsOf = async (sessionID: string): Promise<readonly Session[]> => {
    const parentID = taskTracker.parentOf(sessionID);
    const parent = parentID === undefined ? undefined : await store.session(parentID);
    return parent === undefined ? [] : [parent, ...(await ancestorsOf(parent.id))];
  };
  return ({ agent, session: { id }, user }: RuleScope): CurrentAction =>
    async (tool, patterns, allowed = []) => {
      const session = await store.session(id);
      if (session === undefined) return 'deny';
      const rules = collectRules({ agent, session, user, ancestors: await ancestorsOf(id) });
      return decideAction(rules, { tool, patterns }, allowed);
    };
};
