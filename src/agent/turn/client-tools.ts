import { type CompileSchema, SchemaError } from '../../core/json.ts';
import { joinPublications, type Publication } from '../events/publisher.ts';
import { partPublication } from '../events/records.ts';
import type { ToolSpec } from '../model/types.ts';
import { CLIENT_TOOL } from '../protocol/call-metadata.ts';
import type { AwaitedCalls, ClientTools, ToolPart, UserMessage } from '../protocol/types.ts';
import { LATE, MAX_CALLS_PER_STEP, TOO_MANY } from '../tools/call.ts';
import { type RequestedCall, unfitArguments, unreadableArguments } from '../tools/tool.ts';

const ONE_AT_A_TIME =
  'One step makes one call of such a tool, so this one was not made. Ask for it again in the next step if it is still needed.';

/** A call that is not made, and what the model reads of it. */
type RefusedCall = { readonly call: RequestedCall; readonly why: string };

/** The calls of one step, by who carries them out. */
type SortedCalls = {
  /** Calls of the agent's own tools, and of unknown ones. */
  readonly own: readonly RequestedCall[];
  /** Calls for the client. */
  readonly awaited: readonly RequestedCall[];
  readonly refused: readonly RefusedCall[];
};

/** The tools that run at the client, as a turn offers them to its model. */
export type OfferedClientTools = {
  readonly specs: readonly ToolSpec[];
  readonly names: readonly string[];
  /** Whether the turn may end only with a call of one of them: each step has to make a call until then. */
  readonly isForced: boolean;
  /** How the model is told of it: to call one, or the one that the client has named. */
  readonly forced: 'required' | { readonly name: string };
  /** Sorts the calls of a step, and checks the arguments of those for the client. */
  readonly sort: (calls: readonly RequestedCall[], isLast: boolean) => SortedCalls;
};

type OfferNeeds = {
  /** The names of all tools of the agent. One that came since the prompt wins: rules hold for its calls. */
  readonly ownNames: readonly string[];
  readonly compileSchema: CompileSchema;
  /** Whether the model can make calls. */
  readonly takesTools: boolean;
};

const NO_TOOLS: ClientTools = { tools: [], choice: 'none', parallel: true };

/** The tools of a prompt for its turn. Permission rules do not apply to them: the client decides what it does. */
export const createClientTools = (
  given: ClientTools = NO_TOOLS,
  { ownNames, compileSchema, takesTools }: OfferNeeds,
): OfferedClientTools => {
  const { choice, parallel } = given;
  const isOffered = (name: string): boolean =>
    takesTools && choice !== 'none' && !ownNames.includes(name) && (typeof choice !== 'object' || choice.name === name);
  // Some backends refuse a tool without properties.
  const specs = given.tools
    .filter(({ name }) => isOffered(name))
    .map((tool): ToolSpec => ({ ...tool, inputSchema: { properties: {}, ...tool.inputSchema } }));
  const isForced = specs.length > 0 && (choice === 'required' || typeof choice === 'object');
  const limit = parallel ? MAX_CALLS_PER_STEP : 1;

  const argumentsError = ({ part, input, raw }: RequestedCall, { inputSchema }: ToolSpec): string | undefined => {
    if (input === undefined) return unreadableArguments(raw);
    try {
      const error = compileSchema(inputSchema)(part.state.input);
      return error === undefined ? undefined : unfitArguments(error);
    } catch (error) {
      if (error instanceof SchemaError) return unfitArguments(error.message);
      throw error;
    }
  };
  return {
    specs,
    names: specs.map(({ name }) => name),
    isForced,
    forced: typeof choice === 'object' ? { name: choice.name } : 'required',
    sort(calls, isLast) {
      const own: RequestedCall[] = [];
      const awaited: RequestedCall[] = [];
      const refused: RefusedCall[] = [];
      for (const call of calls) {
        const spec = specs.find(({ name }) => name === call.part.tool);
        if (spec === undefined) {
          own.push(call);
          continue;
        }
        const isLate = isLast && !isForced;
        const isOver = awaited.length >= limit;
        const why = isLate ? LATE : isOver ? (parallel ? TOO_MANY : ONE_AT_A_TIME) : argumentsError(call, spec);
        if (why === undefined) awaited.push(call);
        else refused.push({ call, why });
      }
      return { own, awaited, refused };
    },
  };
};

/**
 * Stores a prompt without its client tools, which nothing needs after its turn: each step of later turns reads all prompts.
 * Clients learn nothing of it.
 */
export const withoutClientTools = ({ clientTools, ...user }: UserMessage): Publication =>
  clientTools === undefined ? {} : { changes: [{ kind: 'message', message: user }] };

/** As long as the shortest number that may lose digits where it is read as JavaScript reads it. */
const LONG_NUMBER = /\d{16}/;

/** The arguments as the model has written them, where the parsed ones may have other numbers. */
const exactArguments = ({ part: { state } }: RequestedCall): { readonly arguments?: string } =>
  state.status === 'pending' && LONG_NUMBER.test(state.raw) ? { arguments: state.raw } : {};

/** Calls that are handed to the client: what the session waits for from now on, and what is stored and sent of them. */
export const handToClient = (
  calls: readonly RequestedCall[],
  { messageID, now, timeoutMs }: { readonly messageID: string; readonly now: number; readonly timeoutMs: number },
): { readonly awaitedCalls: AwaitedCalls; readonly publication: Publication } => {
  const expiresAt = now + timeoutMs;
  const toRunning = (call: RequestedCall): ToolPart => {
    const { part } = call;
    const { input } = part.state;
    const metadata = { ...CLIENT_TOOL, ...exactArguments(call), expiresAt };
    return { ...part, state: { status: 'running', input, title: part.tool, metadata, time: { start: now } } };
  };
  return {
    awaitedCalls: { messageID, callIDs: calls.map(({ part }) => part.callID), expiresAt },
    publication: joinPublications(...calls.map((call) => partPublication(toRunning(call), now))),
  };
};
