import { toJsonSchema } from '@valibot/to-json-schema';
import type * as v from 'valibot';
import type { RouteTable } from '../../core/http/router.ts';
import {
  ForkIn,
  LogIn,
  PromptIn,
  ReplyIn,
  ResponseIn,
  RevertIn,
  SessionChangeIn,
  SessionIn,
  SummarizeIn,
} from '../protocol/request-schemas.ts';

const NONE = 'an empty list: there are none here';
const NONE_PLACED = 'location, and data: an empty list';

type Operation = { readonly says: string; readonly body?: v.GenericSchema; readonly answers: string };

/** What each route is for. A route without a line here is a bug that a test finds. */
const OPERATIONS: Readonly<Record<string, Operation>> = {
  'GET /health': { says: 'Whether the process is alive; needs no credentials', answers: 'status, service, version' },
  'GET /ready': { says: 'Whether requests are answered; needs no credentials', answers: 'status, or 503 with reasons' },
  'GET /metrics': { says: 'What the server has done and does, counted', answers: "Prometheus' text format" },
  'GET /doc': { says: 'This document', answers: 'OpenAPI 3.1' },
  'GET /openapi.json': { says: 'The same under another name', answers: 'OpenAPI 3.1' },
  'GET /global/health': { says: 'Whether the server is healthy', answers: 'healthy, version' },
  'GET /session': { says: 'Sessions, the latest updated first', answers: 'a list of sessions' },
  'POST /session': { says: 'Makes a session', body: SessionIn, answers: 'the session' },
  'GET /session/status': { says: 'Sessions that are not idle, by id', answers: 'a map of statuses' },
  'GET /session/{id}': { says: 'One session', answers: 'the session' },
  'PATCH /session/{id}': {
    says: 'Changes title, metadata, rules or archiving',
    body: SessionChangeIn,
    answers: 'the session',
  },
  'DELETE /session/{id}': { says: 'Ends what runs in a session and removes it', answers: 'true' },
  'GET /session/{id}/children': { says: 'Sessions that it has handed work to', answers: 'a list of sessions' },
  'POST /session/{id}/abort': {
    says: 'Ends what runs and what waits in a session',
    answers: 'true, once that has ended',
  },
  'POST /session/{id}/fork': {
    says: 'Copies what was said and is over, up to a message, into a new session',
    body: ForkIn,
    answers: 'the new session',
  },
  'POST /session/{id}/revert': {
    says: 'Turns a session back to a message or a part of it; what comes after goes with the next prompt',
    body: RevertIn,
    answers: 'the session, or 409 when it is busy',
  },
  'POST /session/{id}/unrevert': { says: 'Takes that back', answers: 'the session, or 409 when it is busy' },
  'POST /session/{id}/summarize': {
    says: 'Puts a summary in the place of what was said, when its turn comes; the headers come at once',
    body: SummarizeIn,
    answers: 'true, or false when there was no summary to be had',
  },
  'DELETE /session/{id}/message/{messageID}': {
    says: 'Removes a message with its parts',
    answers: 'true, or 409 when the session is busy',
  },
  'GET /session/{id}/todo': { says: 'To-do lists', answers: NONE },
  'GET /session/{id}/diff': { says: 'Files that were changed', answers: NONE },
  'GET /session/{id}/message': {
    says: 'Messages in order; limit gives the newest, before those older than a message',
    answers: 'a list of messages with their parts',
  },
  'POST /session/{id}/message': {
    says: 'Prompts, and waits for the answer; the headers come at once',
    body: PromptIn,
    answers: 'the answer to this very prompt, with its parts',
  },
  'POST /session/{id}/prompt_async': {
    says: 'Prompts without waiting',
    body: PromptIn,
    answers: '204 once the prompt is stored',
  },
  'GET /session/{id}/message/{messageID}': { says: 'One message', answers: 'the message with its parts' },
  'GET /session/{id}/message/{messageID}/part/{partID}/output': {
    says: 'The whole output of a tool call whose part holds only the beginning',
    answers: 'text',
  },
  'POST /session/{id}/permissions/{permissionID}': {
    says: 'Answers a question, as older clients do',
    body: ResponseIn,
    answers: 'true',
  },
  'GET /event': {
    says: 'Events of a directory as they happen; Last-Event-ID brings those that were missed',
    answers: 'server-sent events',
  },
  'GET /global/event': { says: 'The same for all directories, in envelopes', answers: 'server-sent events' },
  'GET /permission': { says: 'Questions that are open', answers: 'a list of questions' },
  'POST /permission/{id}/reply': { says: 'Answers a question', body: ReplyIn, answers: 'true' },
  'GET /mcp': { says: 'Tool servers and their status', answers: 'a map of statuses' },
  'POST /mcp/{name}/connect': { says: 'Connects a tool server', answers: 'true' },
  'POST /mcp/{name}/disconnect': { says: 'Disconnects a tool server', answers: 'true' },
  'GET /config': { says: 'The configuration without its secrets', answers: 'the configuration' },
  'GET /config/providers': {
    says: 'Providers with their models, and the default of each',
    answers: 'providers, default',
  },
  'GET /provider': { says: 'The same in another shape', answers: 'all, connected, default' },
  'GET /agent': { says: 'Agents and their rules', answers: 'a list of agents' },
  'GET /global/config': { says: 'The same as GET /config', answers: 'the configuration' },
  'GET /provider/auth': { says: 'Ways to sign in to providers', answers: 'an empty object: there are none here' },
  'GET /project': { says: 'Projects', answers: 'the one project' },
  'GET /project/current': { says: 'The project', answers: 'its id, and the directory' },
  'GET /project/{id}/directories': { says: 'Further directories of a project', answers: NONE },
  'GET /command': { says: 'Commands', answers: NONE },
  'GET /skill': { says: 'Skills', answers: NONE },
  'GET /question': { says: 'Questions that models ask', answers: NONE },
  'GET /lsp': { says: 'Language servers', answers: NONE },
  'GET /formatter': { says: 'Formatters', answers: NONE },
  'GET /vcs': { says: 'Version control', answers: 'an empty object: there is none here' },
  'GET /vcs/status': { says: 'Files that differ', answers: NONE },
  'GET /experimental/capabilities': { says: 'What else can be done', answers: 'backgroundSubagents: false' },
  'GET /experimental/console': { says: 'Who manages providers', answers: 'nobody' },
  'GET /experimental/resource': { says: 'Resources of tool servers', answers: 'an empty object' },
  'GET /experimental/workspace': { says: 'Workspaces', answers: NONE },
  'GET /experimental/workspace/status': { says: 'What workspaces do', answers: NONE },
  'GET /api/location': { says: 'Where a session would be', answers: 'directory and project' },
  'GET /api/agent': { says: 'The newer list of agents', answers: NONE_PLACED },
  'GET /api/command': { says: 'The newer list of commands', answers: NONE_PLACED },
  'GET /api/integration': { says: 'Integrations', answers: NONE_PLACED },
  'GET /api/model': { says: 'The newer list of models', answers: NONE_PLACED },
  'GET /api/provider': { says: 'The newer list of providers', answers: NONE_PLACED },
  'GET /api/reference': { says: 'References', answers: NONE_PLACED },
  'GET /api/skill': { says: 'The newer list of skills', answers: NONE_PLACED },
  'POST /log': { says: 'Takes what a client would log, and drops it', body: LogIn, answers: 'true' },
  'GET /path': { says: 'Where a session would be', answers: 'directory, worktree and others' },
};

/** The names of routes without a line in the document, and of lines without a route. */
export const undocumented = (table: RouteTable): readonly string[] => {
  const routes = namesOf(table);
  const lines = Object.keys(OPERATIONS);
  return [...routes.filter((name) => !lines.includes(name)), ...lines.filter((name) => !routes.includes(name))];
};

const namesOf = (table: RouteTable): readonly string[] =>
  Object.entries(table).flatMap(([pattern, methods]) =>
    Object.keys(methods).map((method) => `${method} ${pattern.replace(/:(\w+)/g, '{$1}')}`),
  );

const bodyOf = (schema: v.GenericSchema) => {
  const { $schema: _dialect, ...published } = toJsonSchema(schema, { typeMode: 'input', errorMode: 'ignore' });
  return { required: true, content: { 'application/json': { schema: published } } };
};

const operationOf = (name: string, { says, body, answers }: Operation) => {
  const parameters = [...name.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => ({
    name: parameter,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
  return {
    summary: says,
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined ? {} : { requestBody: bodyOf(body) }),
    responses: { 200: { description: answers }, default: { description: 'an error: name, and data with a message' } },
  };
};

/** The document of the agent server's HTTP interface, as OpenAPI 3.1. */
export const docOf = (version: string): unknown => {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const [name, operation] of Object.entries(OPERATIONS)) {
    const [method = '', path = ''] = name.split(' ');
    paths[path] = { ...paths[path], [method.toLowerCase()]: operationOf(name, operation) };
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Gatehouse agent server', version },
    components: { securitySchemes: { basic: { type: 'http', scheme: 'basic' } } },
    security: [{ basic: [] }],
    paths,
  };
};
