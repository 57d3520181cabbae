import type { ClientFunctions } from '../request.ts';
import { withToken } from './prompt-token.ts';
import type { ClientToolAnswer, NewSession, Prompt } from './types.ts';

/** Denies the tools that need a person at the agent's own user interface, as OpenCode's own `run` does. */
const HEADLESS_RULES = ['question', 'plan_enter', 'plan_exit'].map((permission) => ({
  permission,
  pattern: '*',
  action: 'deny',
}));

/** The body that creates a session. */
export const sessionBody = ({ title, metadata }: NewSession) => ({ title, metadata, permission: HEADLESS_RULES });

/** The body that makes a copy of a session one of ours: OpenCode copies neither metadata nor rules. */
export const forkedSessionBody = (metadata: NewSession['metadata']) => ({ metadata, permission: HEADLESS_RULES });

const clientToolsBody = ({ tools, choice, isParallel }: ClientFunctions) => ({
  tools: tools.map(({ at: _at, ...tool }) => tool),
  choice,
  parallel: isParallel,
});

/** The body of a prompt. */
export const promptBody = ({
  parts,
  model,
  variant,
  agent,
  system,
  hasTools,
  format,
  clientTools,
  isContext,
  token,
  claim,
}: Prompt) => ({
  parts: token === undefined ? parts : withToken(parts, token),
  ...(isContext === true ? { noReply: true } : {}),
  ...(claim === undefined ? {} : { metadata: claim.metadata }),
  ...(model === undefined ? {} : { model }),
  ...(variant === undefined ? {} : { variant }),
  ...(agent === undefined ? {} : { agent }),
  ...(system === '' ? {} : { system }),
  ...(format === undefined ? {} : { format }),
  ...(clientTools === undefined ? {} : { clientTools: clientToolsBody(clientTools) }),
  // At our server it holds for this message, at OpenCode's for the session from then on.
  ...(hasTools ? {} : { tools: { '*': false } }),
});

/** The body with results of a client's calls; an addition of our agent server to the API of OpenCode. */
export const toolResultsBody = ({ results, noReply, system, clientTools, format }: ClientToolAnswer) => ({
  results,
  ...(noReply ? { noReply } : {}),
  ...(system === '' ? {} : { system }),
  // What is left out stays as the prompt has it, and a client may bring no functions any more.
  clientTools: clientTools === undefined ? { tools: [] } : clientToolsBody(clientTools),
  format: format ?? { type: 'text' },
});
