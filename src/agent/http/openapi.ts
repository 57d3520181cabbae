import { toJsonSchema } from '@valibot/to-json-schema';
import type * as v from 'valibot';
import type { RouteTable } from '../../core/http/router.ts';
import { PartChangeBody } from '../protocol/part-schemas.ts';
import {
  CommandBody,
  ForkBody,
  LogBody,
  PermissionReplyBody,
  PermissionResponseBody,
  PromptBody,
  RevertBody,
  SessionBody,
  SessionChangeBody,
  SummarizeBody,
} from '../protocol/request-schemas.ts';
import { ClientToolResultsBody } from '../protocol/tool-schemas.ts';
import {
  ConversationBody,
  ConversationChangeBody,
  DecisionsBody,
  LeaveBody,
  MessagesBody,
  TurnBody,
} from '../turns/body.ts';

const NONE = 'an empty list: there are none here';
const NONE_WITH_LOCATION = 'location, and data: an empty list';

type Operation = { readonly summary: string; readonly body?: v.GenericSchema; readonly answers: string };

/** What each route is for. A route without a line here is a bug that a test finds. */
const OPERATIONS: Readonly<Record<string, Operation>> = {
  'GET /health': { summary: 'Whether the process is alive; needs no credentials', answers: 'status, service, version' },
  'GET /ready': {
    summary: 'Whether requests are answered; needs no credentials',
    answers: 'status, or 503 with reasons',
  },
  'GET /metrics': { summary: 'Metrics of the server', answers: "Prometheus' text format" },
  'GET /doc': { summary: 'This document', answers: 'OpenAPI 3.1' },
  'GET /openapi.json': { summary: 'The same document at another path', answers: 'OpenAPI 3.1' },
  'GET /global/health': { summary: 'Whether the server is healthy', answers: 'healthy, version, features' },
  'GET /session': {
    summary:
      'Sessions, the latest updated first; search in titles, roots, directory, start, limit, and before for the next page',
    answers: 'a list of sessions',
  },
  'POST /session': { summary: 'Creates a session', body: SessionBody, answers: 'the session' },
  'GET /session/status': { summary: 'Sessions that are not idle, by id', answers: 'a map of statuses' },
  'GET /session/{id}': { summary: 'One session', answers: 'the session' },
  'PATCH /session/{id}': {
    summary: 'Changes title, metadata, rules or archiving',
    body: SessionChangeBody,
    answers: 'the session',
  },
  'DELETE /session/{id}': { summary: 'Aborts what runs in a session and deletes it', answers: 'true' },
  'GET /session/{id}/export': {
    summary: 'The session with all that belongs to it, as the command export writes it',
    answers: 'lines of JSON; without the line {"kind":"end"} it broke off',
  },
  'GET /session/{id}/children': {
    summary: 'Its child sessions, which work on its tasks',
    answers: 'a list of sessions',
  },
  'POST /session/{id}/abort': {
    summary: 'Aborts the running prompt of a session and those that wait; with ?prompt=<message id> that prompt alone',
    answers: 'true, once they have ended',
  },
  'POST /session/{id}/fork': {
    summary: 'Copies the finished messages up to a message into a new session',
    body: ForkBody,
    answers: 'the new session',
  },
  'POST /session/{id}/revert': {
    summary: 'Reverts a session to a message or a part of it; what comes after is removed by the next prompt',
    body: RevertBody,
    answers: 'the session, or 409 when it is busy',
  },
  'POST /session/{id}/unrevert': { summary: 'Undoes a revert', answers: 'the session, or 409 when it is busy' },
  'POST /session/{id}/summarize': {
    summary:
      'Replaces the conversation so far by a summary, after the prompts that wait; response headers are sent at once',
    body: SummarizeBody,
    answers: 'true, or false when no summary could be made',
  },
  'DELETE /session/{id}/message/{messageID}': {
    summary: 'Deletes a message with its parts',
    answers: 'true, or 409 when the session is busy',
  },
  'GET /session/{id}/todo': { summary: 'To-do lists', answers: NONE },
  'GET /session/{id}/diff': { summary: 'Files that were changed', answers: NONE },
  'GET /session/{id}/message': {
    summary: 'Messages in order; limit gives the newest, before those older than a message',
    answers: 'a list of messages with their parts',
  },
  'POST /session/{id}/message': {
    summary: 'Prompts, and waits for the answer; the headers come at once',
    body: PromptBody,
    answers: 'the answer to this very prompt, with its parts',
  },
  'POST /session/{id}/command': {
    summary: 'Prompts with the text of a command of the configuration, and waits for the answer',
    body: CommandBody,
    answers: 'the answer to this very prompt, with its parts',
  },
  'POST /session/{id}/prompt_async': {
    summary: 'Prompts without waiting',
    body: PromptBody,
    answers: '204 once the prompt is stored',
  },
  'POST /session/{id}/client-tool-results': {
    summary: 'Gives the results of calls of client tools; with the last one the turn goes on in the background',
    body: ClientToolResultsBody,
    answers: 'accepted, settled and waiting: lists of call ids',
  },
  'GET /session/{id}/message/{messageID}': { summary: 'One message', answers: 'the message with its parts' },
  'PATCH /session/{id}/message/{messageID}/part/{partID}': {
    summary: 'Changes the text or the file of a part',
    body: PartChangeBody,
    answers: 'the part, or 409 when the session is busy',
  },
  'DELETE /session/{id}/message/{messageID}/part/{partID}': {
    summary: 'Deletes a part of a message',
    answers: 'true, or 409 when the session is busy',
  },
  'GET /session/{id}/message/{messageID}/part/{partID}/output': {
    summary: 'The whole output of a tool call whose part holds only the beginning',
    answers: 'text',
  },
  'POST /session/{id}/permissions/{permissionID}': {
    summary: 'Answers a permission request, at the path of older clients',
    body: PermissionResponseBody,
    answers: 'true',
  },
  'GET /event': {
    summary: 'Events of a directory as they happen; Last-Event-ID replays those that were missed',
    answers: 'server-sent events',
  },
  'GET /global/event': { summary: 'The same for all directories, in envelopes', answers: 'server-sent events' },
  'GET /permission': {
    summary: 'Open permission requests, each with the whole arguments of its call and their hash',
    answers: 'a list of permission requests',
  },
  'GET /permission/decisions': {
    summary:
      'What was decided, the newest first; limit (50), before the id of a request for older ones, and asked=true for requests alone',
    answers: 'a list of decisions: who, what and when',
  },
  'GET /permission/standing': {
    summary: 'The standing rules that answers of always have made and that still hold',
    answers: 'a list of rules: who, since when, until when, how many calls ran under it',
  },
  'DELETE /permission/standing/{id}': { summary: 'Revokes a standing rule', answers: 'true, or 404 when none holds' },
  'POST /permission/{id}/reply': {
    summary: 'Answers a permission request',
    body: PermissionReplyBody,
    answers:
      'true; 404 with data.decided when it was decided before, 409 when argumentsHash is not that of the request, 403 when always is refused',
  },
  'GET /mcp': { summary: 'Tool servers, their status and last error', answers: 'a map of statuses' },
  'POST /mcp/{name}/connect': { summary: 'Connects a tool server', answers: 'true' },
  'POST /mcp/{name}/disconnect': { summary: 'Disconnects a tool server', answers: 'true' },
  'GET /gatehouse/turns': {
    summary: 'Turns of the owner: those that wait for decisions, or with sessionID and promptID those of one prompt',
    answers: 'a list of turns',
  },
  'POST /gatehouse/turns': {
    summary: 'Begins a turn of a conversation, or joins the one that an equal request has begun',
    body: TurnBody,
    answers: 'outcome, reader and turn; with stream, the same as the first of server-sent events',
  },
  'GET /gatehouse/turns/{id}': { summary: 'One turn', answers: 'the turn' },
  'DELETE /gatehouse/turns/{id}': {
    summary: 'Forgets a turn, with its session if nothing else is in that',
    answers: 'true, or 409 while it is under way',
  },
  'GET /gatehouse/turns/{id}/output': {
    summary: 'The output of a turn after a position; with stream=true as it comes, for the reader that is named',
    answers: 'entries and turn, or server-sent events',
  },
  'POST /gatehouse/turns/{id}/leave': {
    summary: 'Says that a reader has left, or has read up to a position',
    body: LeaveBody,
    answers: 'the turn',
  },
  'POST /gatehouse/turns/{id}/cancel': { summary: 'Aborts a turn', answers: 'the turn as it is then' },
  'POST /gatehouse/turns/{id}/decisions': {
    summary: 'Replies to permission requests of a turn',
    body: DecisionsBody,
    answers: 'the turn',
  },
  'GET /gatehouse/conversations': {
    summary: 'The conversation of the owner with the name of the query',
    answers: 'the conversation, or 404',
  },
  'POST /gatehouse/conversations': {
    summary: 'Creates a conversation of turns, with messages if there are any',
    body: ConversationBody,
    answers: 'the conversation, or 409 when its name is taken',
  },
  'GET /gatehouse/conversations/{id}': { summary: 'One conversation of turns', answers: 'the conversation' },
  'PATCH /gatehouse/conversations/{id}': {
    summary: 'Changes its metadata',
    body: ConversationChangeBody,
    answers: 'the conversation',
  },
  'DELETE /gatehouse/conversations/{id}': {
    summary: 'Aborts what runs in it, and deletes it with its turns and sessions',
    answers: 'true',
  },
  'GET /gatehouse/conversations/{id}/messages': {
    summary: 'Its messages; limit (100), order (asc or desc), and after the id of one of them',
    answers: 'messages with their parts, and hasMore',
  },
  'POST /gatehouse/conversations/{id}/messages': {
    summary: 'Adds messages without asking for an answer',
    body: MessagesBody,
    answers: 'messageIDs, or 409 while it is busy',
  },
  'DELETE /gatehouse/conversations/{id}/messages/{messageID}': {
    summary: 'Deletes a message that was added',
    answers: 'true, or 409 for a message of a turn',
  },
  'GET /config': { summary: 'The configuration without its secrets', answers: 'the configuration' },
  'GET /config/providers': {
    summary: 'Providers with their models, and the default of each',
    answers: 'providers, default',
  },
  'GET /provider': { summary: 'The same in another shape', answers: 'all, connected, default' },
  'GET /agent': { summary: 'Agents and their rules', answers: 'a list of agents' },
  'GET /global/config': { summary: 'The same as GET /config', answers: 'the configuration' },
  'GET /provider/auth': { summary: 'Sign-in methods of providers', answers: 'an empty object: there are none here' },
  'GET /project': { summary: 'Projects', answers: 'the one project' },
  'GET /project/current': { summary: 'The project', answers: 'its id, and the directory' },
  'GET /project/{id}/directories': { summary: 'Further directories of a project', answers: NONE },
  'GET /command': { summary: 'Commands of the configuration', answers: 'a list of commands' },
  'GET /skill': { summary: 'Skills', answers: NONE },
  'GET /question': { summary: 'Questions that models ask', answers: NONE },
  'GET /lsp': { summary: 'Language servers', answers: NONE },
  'GET /formatter': { summary: 'Formatters', answers: NONE },
  'GET /vcs': { summary: 'Version control', answers: 'an empty object: there is none here' },
  'GET /vcs/status': { summary: 'Files that differ', answers: NONE },
  'GET /experimental/capabilities': { summary: 'Optional capabilities', answers: 'backgroundSubagents: false' },
  'GET /experimental/console': { summary: 'Who manages providers', answers: 'no one' },
  'GET /experimental/resource': { summary: 'Resources of tool servers', answers: 'an empty object' },
  'GET /experimental/workspace': { summary: 'Workspaces', answers: NONE },
  'GET /experimental/workspace/status': { summary: 'The status of workspaces', answers: NONE },
  'GET /api/location': { summary: 'The directory of new sessions', answers: 'directory and project' },
  'GET /api/agent': { summary: 'The newer list of agents', answers: NONE_WITH_LOCATION },
  'GET /api/command': { summary: 'The newer list of commands', answers: NONE_WITH_LOCATION },
  'GET /api/integration': { summary: 'Integrations', answers: NONE_WITH_LOCATION },
  'GET /api/model': { summary: 'The newer list of models', answers: NONE_WITH_LOCATION },
  'GET /api/provider': { summary: 'The newer list of providers', answers: NONE_WITH_LOCATION },
  'GET /api/reference': { summary: 'References', answers: NONE_WITH_LOCATION },
  'GET /api/skill': { summary: 'The newer list of skills', answers: NONE_WITH_LOCATION },
  'POST /log': { summary: 'Accepts log entries of a client, and drops them', body: LogBody, answers: 'true' },
  'GET /path': { summary: 'The directories of the server', answers: 'directory, worktree and others' },
};

/** The names of routes without a line in the document, and of lines without a route. */
export const undocumented = (table: RouteTable): readonly string[] => {
  const routes = operationNames(table);
  const lines = Object.keys(OPERATIONS);
  return [...routes.filter((name) => !lines.includes(name)), ...lines.filter((name) => !routes.includes(name))];
};

const operationNames = (table: RouteTable): readonly string[] =>
  Object.entries(table).flatMap(([pattern, methods]) =>
    Object.keys(methods).map((method) => `${method} ${pattern.replace(/:(\w+)/g, '{$1}')}`),
  );

const toRequestBody = (schema: v.GenericSchema) => {
  const { $schema: _dialect, ...published } = toJsonSchema(schema, { typeMode: 'input', errorMode: 'ignore' });
  return { required: true, content: { 'application/json': { schema: published } } };
};

const toOperation = (name: string, { summary, body, answers }: Operation) => {
  const parameters = [...name.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => ({
    name: parameter,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
  return {
    summary: summary,
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined ? {} : { requestBody: toRequestBody(body) }),
    responses: { 200: { description: answers }, default: { description: 'an error: name, and data with a message' } },
  };
};

/** The document of the agent server's HTTP interface, as OpenAPI 3.1. */
export const openApiDocument = (version: string): unknown => {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const [name, operation] of Object.entries(OPERATIONS)) {
    const [method = '', path = ''] = name.split(' ');
    paths[path] = { ...paths[path], [method.toLowerCase()]: toOperation(name, operation) };
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Gatehouse agent server', version },
    components: { securitySchemes: { basic: { type: 'http', scheme: 'basic' } } },
    security: [{ basic: [] }],
    paths,
  };
};
