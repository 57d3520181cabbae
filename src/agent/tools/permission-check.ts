import { isRecord } from '../../core/record.ts';
import type { Told } from '../store/store.ts';
import type { AgentTool } from './tool.ts';

/** What a person reads of a preview: words of the tool's own answer, or ours where there is none to be shown. */
type Preview = Readonly<Record<string, unknown>>;

/** The tool whose answers have words for the questions about the other tools of its server. */
const PREVIEW_TOOL = 'preview_recharge';

const UNKNOWN =
  'No preview of this token is known in this session, so nothing here says what the call would do, and to whom. Reject it unless you know';
const CONTRADICTORY =
  'The tool server has previewed this token more than once, and not with the same words, so none of them are shown. Reject the call';

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

const textsIn = (value: unknown, names: readonly string[]): Preview =>
  Object.fromEntries(
    names.flatMap((name) => (isRecord(value) && typeof value[name] === 'string' ? [[name, value[name]]] : [])),
  );

const previewIn = (output: unknown, token: string): Preview | undefined => {
  if (!isRecord(output) || output.preview_token !== token || typeof output.summary !== 'string') return undefined;
  const user = textsIn(output.user, ['email', 'username', 'status', 'role']);
  return {
    summary: output.summary,
    ...(Object.keys(user).length === 0 ? {} : { user }),
    warnings: output.warnings ?? [],
  };
};

/** The preview tool of the server that a tool really comes from, whatever other tools are called. */
const siblingOf = ({ origin }: AgentTool, tools: readonly AgentTool[]): AgentTool | undefined =>
  origin === undefined
    ? undefined
    : tools.find((other) => other.origin?.server === origin.server && other.origin.tool === PREVIEW_TOOL);

const previewsIn = (messages: readonly Told[], tool: string, token: string): readonly Preview[] =>
  messages
    .flatMap(({ parts }) => parts)
    .flatMap((part) =>
      part.type === 'tool' && part.tool === tool && part.state.status === 'completed' ? [part.state] : [],
    )
    .map(({ output }) => previewIn(parsed(output), token))
    .filter((preview) => preview !== undefined);

const previewFor = (previews: readonly Preview[]): Preview => {
  const [first, ...more] = previews;
  if (first === undefined) return { summary: UNKNOWN, warnings: [] };
  const isAgreed = more.every((other) => JSON.stringify(other) === JSON.stringify(first));
  return isAgreed ? first : { summary: CONTRADICTORY, warnings: [] };
};

export type AskedAbout = {
  readonly tool: AgentTool;
  /** All that the agent has. */
  readonly tools: readonly AgentTool[];
  readonly input: Readonly<Record<string, unknown>>;
  /** What was said in the session. Read only where there may be something in it. */
  readonly said: () => Promise<readonly Told[]>;
};

/**
 * What a person should see beside the arguments of a call: when one of them is the token of a preview, who and what the
 * preview was about. Only answers of the same tool server count: what a model or another tool says may be made up.
 */
export const previewWordsFor = async ({ tool, tools, input, said }: AskedAbout): Promise<Preview> => {
  const token = input.preview_token;
  if (typeof token !== 'string') return {};
  const sibling = siblingOf(tool, tools);
  return { preview: previewFor(sibling === undefined ? [] : previewsIn(await said(), sibling.name, token)) };
};
