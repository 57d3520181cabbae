import { createAgentClient } from '../../../../src/bridge/agent/client.ts';
import type { AgentHttpClient } from '../../../../src/bridge/agent/servers.ts';
import type { AgentClient, Prompt } from '../../../../src/bridge/agent/types.ts';
import type { BridgeFault } from '../../../../src/bridge/errors.ts';
import { Fault } from '../../../../src/core/fault.ts';
import type { HttpRequest, HttpResponse } from '../../../../src/core/http/client.ts';
import { createTimeSlices } from '../../../../src/core/time-slices.ts';
import { rejection } from '../../../check.ts';
import { createFakeClock } from '../../../fake-clock.ts';

export const SES = 'ses_e003a9f5dffe5uRdHWNjeuSD3I';

export const ANSWER = {
  info: {
    id: 'msg_2',
    sessionID: SES,
    role: 'assistant',
    parentID: 'msg_1',
    modelID: 'main',
    providerID: 'demo',
    time: { created: 1, completed: 2 },
    tokens: { input: 100, output: 20, reasoning: 0, cache: { read: 0, write: 0 } },
    finish: 'stop',
  },
  parts: [
    { id: 'prt_1', sessionID: SES, messageID: 'msg_2', type: 'step-start' },
    { id: 'prt_2', sessionID: SES, messageID: 'msg_2', type: 'text', text: 'Hello', time: { start: 1, end: 2 } },
  ],
};

export const PROMPT: Prompt = {
  parts: [{ type: 'text', text: 'Good morning' }],
  model: undefined,
  variant: undefined,
  agent: undefined,
  system: '',
  hasTools: true,
};

export const never = new AbortController().signal;

export type Answered = {
  readonly status?: number;
  readonly text?: string;
  readonly headers?: Readonly<Record<string, string>>;
};

const received = ({ status = 200, text = 'true', headers = {} }: Answered): HttpResponse => ({
  status,
  text,
  header: (name) => headers[name] ?? null,
});

export const jsonAnswer = (value: unknown): Answered => ({ text: JSON.stringify(value) });

/** The agent over an exchange that answers as it is told to, and what was sent over it. */
export const agentOver = (answerTo: (sent: HttpRequest) => Answered | Promise<Answered>, changes = {}) => {
  const sent: Parameters<AgentHttpClient>[0][] = [];
  const clock = createFakeClock();
  const httpClient: AgentHttpClient = async (one) => {
    sent.push(one);
    const left = new Promise<never>((_, reject) =>
      one.signal.addEventListener('abort', () => reject(one.signal.reason)),
    );
    return received(await Promise.race([answerTo(one), left]));
  };
  const agent = createAgentClient({
    httpClient,
    clock,
    runInSlices: createTimeSlices(clock),
    baseUrl: 'http://agent.test/',
    ...changes,
  });
  const asked = () =>
    sent.map(({ method, url, body }) => `${method} ${url.replace('http://agent.test', '')} ${body ?? ''}`.trim());
  return { agent, clock, sent, asked };
};

export const faultOf = async (outcome: Promise<unknown>): Promise<BridgeFault> => {
  const error = await rejection(outcome);
  if (error instanceof Fault) return error.detail;
  throw error;
};

/** Every call but the prompt. */
export const CALLS: Readonly<Record<string, (agent: AgentClient, signal?: AbortSignal) => Promise<unknown>>> = {
  models: (agent, signal = never) => agent.models(signal),
  createSession: (agent, signal = never) => agent.createSession({ title: 'a', metadata: {} }, signal),
  session: (agent, signal = never) => agent.session(SES, signal),
  sessions: (agent, signal = never) => agent.sessions(5, signal),
  setMetadata: (agent, signal = never) => agent.setMetadata(SES, {}, signal),
  deleteSession: (agent, signal = never) => agent.deleteSession(SES, signal),
  message: (agent, signal = never) => agent.message(SES, 'msg_1', signal),
  messages: (agent, signal = never) => agent.messages(SES, signal),
  busySessions: (agent, signal = never) => agent.busySessions(signal),
  abort: (agent, signal = never) => agent.abort(SES, signal),
  asks: (agent, signal = never) => agent.permissionRequests(signal),
  answerAsk: (agent, signal = never) => agent.answerPermission('per_1', { reply: 'once' }, signal),
  rejectQuestion: (agent, signal = never) => agent.rejectQuestion('que_1', signal),
};
