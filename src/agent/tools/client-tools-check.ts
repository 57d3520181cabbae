import { Fault } from '../../core/fault.ts';
import { SchemaError } from '../../core/json.ts';
import type { ClientToolsBody } from '../protocol/tool-schemas.ts';
import type { ClientTools } from '../protocol/types.ts';
import type { AgentRuntime } from '../runtime.ts';

const wrong = (param: string, message: string): Fault =>
  new Fault({ kind: 'bad-input', code: 'invalid_body', param, message: `${param}: ${message}` });

type ClientToolsNeeds = AgentRuntime & {
  /** The names of all tools that the agents have, hidden or not. */
  readonly ownNames: () => readonly string[];
};

/**
 * Checks the tools of a client, and returns what is stored; undefined where there are none. A `bad-input` fault where a name
 * is not free, a schema cannot be used, or the choice names no tool.
 */
export type UsableClientTools = (given: ClientToolsBody | undefined) => ClientTools | undefined;

/** Creates the check of the tools that clients bring. */
export const createClientToolsCheck =
  ({ compileSchema, ownNames }: ClientToolsNeeds): UsableClientTools =>
  (given) => {
    if (given === undefined) return undefined;
    const { tools, choice } = given;
    const own = new Set(ownNames());
    const seen = new Set<string>();
    for (const [index, { name, inputSchema }] of tools.entries()) {
      const path = `clientTools.tools[${index}]`;
      if (own.has(name)) throw wrong(`${path}.name`, 'the agent has a tool of this name. Choose another one');
      if (seen.has(name)) throw wrong(`${path}.name`, 'expected a name that no other tool of the list has');
      seen.add(name);
      try {
        compileSchema(inputSchema);
      } catch (error) {
        if (!(error instanceof SchemaError)) throw error;
        throw wrong(`${path}.inputSchema`, error.message);
      }
    }
    if (typeof choice === 'object' && !seen.has(choice.name))
      throw wrong('clientTools.choice.name', 'expected the name of a tool of the list');
    if (choice === 'required' && tools.length === 0)
      throw wrong('clientTools.choice', 'expected at least one tool in the list, or the choice auto');
    return tools.length === 0 ? undefined : given;
  };
