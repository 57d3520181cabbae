import { isBridgeFault } from '../errors.ts';
import { type BridgeRequest, invalidValue, type RequestTools, unsupportedValue } from '../request.ts';
import type { TurnsPort } from '../turns/port.ts';

/** A request as the agent can take it. `areToolsIgnored`: the client's tools have no effect, because the agent takes none. */
export type ForAgent = <Request extends BridgeRequest>(
  request: Request,
) => Promise<{ readonly request: Request; readonly areToolsIgnored: boolean }>;

const NO_CHOICE = unsupportedValue(
  'tool_choice',
  'this agent server takes no functions of clients, so none of several can be required',
);

/** A forced call of one function as a form of the answer, whose arguments are the value. */
const asFormat = <Request extends BridgeRequest>(request: Request, { tools, choice }: RequestTools): Request => {
  if (choice === 'auto') return request;
  const forced = choice === 'required' ? undefined : tools.find(({ name }) => name === choice.name);
  if (forced === undefined) throw NO_CHOICE;
  const { name, inputSchema: schema, at } = forced;
  return { ...request, format: { kind: 'call', name, schema, schemaAt: `${at}.parameters` } };
};

/** Fits requests to what the agent takes. In front of OpenCode's own server, tools of clients have no effect. */
export const createForAgent =
  (turns: Pick<TurnsPort, 'takesClientTools'>): ForAgent =>
  async (request) => {
    const { clientTools } = request;
    if (clientTools === undefined || (await turns.takesClientTools(new AbortController().signal)))
      return { request, areToolsIgnored: false };
    const adapted = asFormat(request, clientTools);
    return { request: { ...adapted, clientTools: undefined }, areToolsIgnored: adapted.format?.kind !== 'call' };
  };

const TOOL_PATH = /^clientTools(?:\.tools(?:\[(\d{1,3})\]\.(name|description|inputSchema))?)?/;
const TOO_MANY_TOOLS = invalidValue('tools', 'the agent server does not take so many, or such long schemas together');

/** A refusal of the client's tools with the path in its body; any other error as it is. */
export const toToolFault = (error: unknown, clientTools: RequestTools | undefined): unknown => {
  if (!isBridgeFault(error) || clientTools === undefined) return error;
  const { detail } = error;
  if (detail.kind !== 'agent-failed') return error;
  const found = TOOL_PATH.exec(detail.path ?? '');
  if (found === null) return error;
  const [, index, member] = found;
  const tool = index === undefined ? undefined : clientTools.tools[Number(index)];
  if (tool === undefined) return TOO_MANY_TOOLS;
  const at = `${tool.at}.${member === 'inputSchema' ? 'parameters' : member}`;
  if (member === 'name') return invalidValue(at, 'the agent has a tool of this name. Use another name');
  // The agent's words, which say what is expected and where.
  const [, reason = 'the agent server does not take it'] = detail.message.split(`${detail.path}: `);
  return invalidValue(at, reason);
};
