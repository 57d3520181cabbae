import * as v from 'valibot';
import { Fault } from '../../core/fault.ts';
import { issueOf } from '../../core/http/body.ts';
import type { RequestBodies } from '../../core/http/request-bodies.ts';
import type { Runtime } from '../../core/runtime.ts';
import type { Access, KnownVisitor } from '../accounts/access.ts';
import type { ConsoleFault } from '../errors.ts';
import type { Parts, Role } from '../protocol.ts';
import type { ConversationNames } from '../services/conversation-names.ts';
import type { SecretFilter } from '../services/secret-filter.ts';
import type { ServiceClients } from '../services/service-client.ts';
import type { Reply } from './reply.ts';

type Params = Readonly<Record<string, string>>;

/** What answers a request of the API, once its visitor is known and may ask. */
export type ApiHandler = (request: Request, params: Params, visitor: KnownVisitor) => Response | Promise<Response>;

/** What the routes of the API share. */
export type ApiContext = Pick<Runtime, 'clock' | 'newId'> & {
  readonly access: Access;
  readonly bodies: Pick<RequestBodies, 'readJson'>;
  readonly reply: Reply;
  readonly hide: SecretFilter;
  readonly clients: ServiceClients;
  readonly parts: Parts;
  readonly names: ConversationNames;
};

type PlainHandler = (request: Request, params: Params) => Promise<Response>;

/** A route that reads, for everyone with this role or more. */
export const reading =
  ({ access }: Pick<ApiContext, 'access'>, role: Role, handle: ApiHandler): PlainHandler =>
  async (request, params) =>
    handle(request, params, await access.require(request, role));

/** A route that changes something: it also wants the CSRF token of its visitor. */
export const changing =
  ({ access }: Pick<ApiContext, 'access'>, role: Role, handle: ApiHandler): PlainHandler =>
  async (request, params) => {
    const visitor = await access.require(request, role);
    await access.requireCsrf(request, visitor);
    return handle(request, params, visitor);
  };

/** A body through its schema. Faults with `bad-input` that names the place, never the value. */
export const parseGiven = <Schema extends v.GenericSchema>(schema: Schema, value: unknown): v.InferOutput<Schema> => {
  const result = v.safeParse(schema, value);
  if (result.success) return result.output;
  const [issue] = result.issues;
  const { path, expected } = issueOf(issue);
  // Of what is missing in an object the schema only repeats the name.
  const isMissing = path !== '' && /object$/.test(issue.type) && issue.received === 'undefined';
  const message = `${path === '' ? 'body' : path}: ${isMissing ? 'is required' : `expected ${expected}`}`;
  throw new Fault({ kind: 'bad-input', code: 'invalid_body', param: path === '' ? null : path, message });
};

/** What a part of the page needs. Faults where it is not set, with the sentence of the part. */
export const requireSet = <Needed>(needed: Needed | undefined, part: Parts[keyof Parts]): Needed => {
  if (needed !== undefined) return needed;
  throw new Fault<ConsoleFault>({ kind: 'not-configured', message: part === true ? '' : part });
};

/** The agent server that a path names by its number. Faults where there is none. */
export const agentIn = ({ clients: { agents }, parts }: ApiContext, text: string) => {
  const agent = /^\d{1,3}$/.test(text) ? agents[Number(text)] : undefined;
  if (agent !== undefined) return agent;
  requireSet(agents[0], parts.sessions);
  const known = agents.length === 1 ? '0' : `0 to ${agents.length - 1}`;
  throw new Fault({ kind: 'not-found', hint: `No such agent server: expected ${known}` });
};

/** An id of the agent servers as a segment of a path: any other text could lead to another path. */
export const pathSegment = (id: string): string => {
  if (/^[\w-]{1,200}$/.test(id)) return id;
  throw new Fault({ kind: 'not-found', hint: 'No such id' });
};
