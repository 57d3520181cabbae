import type { RequestBodies } from '../../../core/http/request-bodies.ts';
import { jsonResponse } from '../../../core/http/response.ts';
import type { RouteTable } from '../../../core/http/router.ts';
import { cutText } from '../../../core/text.ts';
import type { RunInSlices, Steps } from '../../../core/time-slices.ts';
import { isNotFound } from '../../agent/errors.ts';
import { refuseUnsupportedFiles } from '../../agent/file-types.ts';
import type { ModelCatalog } from '../../agent/models.ts';
import type { MessageInfo, MessageRecord } from '../../agent/schema.ts';
import type { AgentClient } from '../../agent/types.ts';
import { responseNotFoundText, sessionInConversationID } from '../../conversation/response-id.ts';
import type { ClientConversations } from '../../conversation/stored/created.ts';
import type { Conversations, Owner } from '../../conversation/types.ts';
import { badInput, type ConversationReference, filesOfRequest, type PromptFile } from '../../request.ts';
import { parseBodyObject } from '../body.ts';
import type { TrackRequest } from '../tracked.ts';
import { messagesOfTurn } from './rebuild/turn-segments.ts';
import { parseResponsesRequest } from './request.ts';

type InputTokensOptions = {
  readonly tracked: TrackRequest;
  readonly authenticate: (request: Request) => Owner;
  readonly conversations: Pick<Conversations, 'findResponse' | 'responseOfItem'> & {
    readonly ofClients: Pick<ClientConversations, 'find'>;
  };
  readonly agent: Pick<AgentClient, 'messages'>;
  readonly catalog: Pick<ModelCatalog, 'find'>;
  readonly bodies: Pick<RequestBodies, 'readJson'>;
  readonly runInSlices: RunInSlices;
};

/** What a text of a model's provider has about: four letters of English to a token, and more tokens for any other script. */
const QUARTERS_OF_ASCII = 1;
const QUARTERS_OF_OTHER = 3;
/** Providers count images by their size in pixels, between some eighty and two thousand tokens. */
const IMAGE_TOKENS = 1000;
const ASCII_LIMIT = 0x80;

/** What may be counted alone. A response is always of some input. */
const COUNTED_WITHOUT_INPUT = ['instructions', 'previous_response_id', 'conversation', 'tools'] as const;
const isGiven = (value: unknown): boolean => value !== undefined && value !== null;

/** About how many tokens texts are. */
function* estimateTokens(texts: Iterable<string>): Steps<number> {
  let quarters = 0;
  for (const text of texts) {
    for (const piece of cutText(text)) {
      for (let at = 0; at < piece.length; at += 1)
        quarters += piece.charCodeAt(at) < ASCII_LIMIT ? QUARTERS_OF_ASCII : QUARTERS_OF_OTHER;
      yield;
    }
  }
  return Math.ceil(quarters / 4);
}

/** A file is a `data:` URL in base64: four characters are three bytes, and four bytes about a token. */
const tokensOfFile = ({ mime, url }: Pick<PromptFile, 'mime' | 'url'>): number =>
  mime.startsWith('image/') ? IMAGE_TOKENS : Math.ceil((url.length * 3) / 16);

const tokensOfFiles = (files: readonly Pick<PromptFile, 'mime' | 'url'>[]): number =>
  files.reduce((sum, file) => sum + tokensOfFile(file), 0);

/** What the model had before it when it wrote a message, and the message; of a summary, which takes the place of all that, itself. */
const contextAfter = (info: MessageInfo): number => {
  if (info.role === 'user' || info.tokens === undefined) return 0;
  const { input, output, cache } = info.tokens;
  return info.summary === true ? output : input + cache.read + cache.write + output;
};

/** About how many tokens a conversation is: what the provider counted last, and an estimate of what has come since. */
function* estimateStored(messages: readonly MessageRecord[]): Steps<number> {
  const lastCounted = messages.findLastIndex(({ info }) => contextAfter(info) > 0);
  const counted = messages[lastCounted];
  const parts = messages.slice(lastCounted + 1).flatMap((record) => record.parts);
  const texts = parts.flatMap((part) => (part.type === 'text' ? [part.text] : []));
  const files = parts.flatMap((part) => (part.type === 'file' ? [part] : []));
  const since = (yield* estimateTokens(texts)) + tokensOfFiles(files);
  return (counted === undefined ? 0 : contextAfter(counted.info)) + since;
}

/**
 * `POST /v1/responses/input_tokens`: an estimate, as the models' own tokenizers are not here. It says that it is one, and refuses
 * what a response would refuse.
 */
export const createInputTokensRoute = (options: InputTokensOptions): RouteTable => {
  const { tracked, authenticate, conversations, agent, catalog, bodies, runInSlices } = options;

  /** The messages that a request continues. */
  const readStored = async (
    reference: ConversationReference,
    owner: Owner,
    signal: AbortSignal,
  ): Promise<readonly MessageRecord[]> => {
    if (reference.kind === 'unnamed') return [];
    if (reference.kind === 'named') {
      try {
        return await agent.messages(
          (await conversations.ofClients.find(owner, reference.id, signal)).sessionID,
          signal,
        );
      } catch (error) {
        // A request with a name that no conversation has starts one.
        const startsOne = sessionInConversationID(reference.id) === undefined;
        if (startsOne && isNotFound(error)) return [];
        throw error;
      }
    }
    const isByItem = reference.kind === 'after-item';
    const responseID = isByItem
      ? await conversations.responseOfItem(reference.itemID, owner, signal)
      : reference.responseID;
    const found = await conversations.findResponse(responseID, owner, signal);
    if (found?.promptID === undefined)
      throw badInput(
        'previous_response_not_found',
        'previous_response_id',
        `${responseNotFoundText(responseID)} for this API key`,
      );
    const messages = await agent.messages(found.sessionID, signal);
    const { turn } = messagesOfTurn(messages, found.promptID);
    const last = turn.at(-1);
    return last === undefined ? [] : messages.slice(0, messages.indexOf(last) + 1);
  };
  return {
    '/v1/responses/input_tokens': {
      POST: tracked(async (request, _params, signal) => {
        const owner = authenticate(request);
        const body = parseBodyObject(await bodies.readJson(request));
        const hasInput = isGiven(body.input);
        const isSomethingGiven = COUNTED_WITHOUT_INPUT.some((name) => isGiven(body[name]));
        const counted = hasInput || !isSomethingGiven ? body : { ...body, input: '.' };
        const parsed = parseResponsesRequest(counted, request.headers);
        const { system, history, prompt, conversation } = parsed;
        const sent = hasInput ? prompt : [];
        refuseUnsupportedFiles(filesOfRequest({ history, prompt: sent }), await catalog.find(parsed.model));
        const texts = [
          system,
          ...history.map(({ text }) => text),
          ...sent.flatMap((part) => (part.type === 'text' ? [part.text] : [])),
          ...[body.tools, body.text].flatMap((given) => (given ? [JSON.stringify(given)] : [])),
        ];
        const files = [
          ...history.flatMap(({ files: earlier = [] }) => earlier),
          ...sent.flatMap((part) => (part.type === 'file' ? [part] : [])),
        ];
        const stored = await readStored(conversation, owner, signal);
        const before = await runInSlices(estimateStored(stored), signal);
        const input_tokens = before + tokensOfFiles(files) + (await runInSlices(estimateTokens(texts), signal));
        return jsonResponse(200, {
          object: 'response.input_tokens',
          input_tokens,
          gatehouse: { is_estimate: true },
        });
      }),
    },
  };
};
