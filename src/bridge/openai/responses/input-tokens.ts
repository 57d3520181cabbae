import type { RequestBodies } from '../../../core/http/request-bodies.ts';
import type { RouteTable } from '../../../core/http/router.ts';
import { cutText } from '../../../core/text.ts';
import type { RunInSlices, Steps } from '../../../core/time-slices.ts';
import type { ModelCatalog } from '../../agent/models.ts';
import type { MessageInfo, MessageRecord } from '../../agent/schema.ts';
import { refuseUnsupportedFiles } from '../../answer/file-types.ts';
import { placeOfName } from '../../answer/turn-request.ts';
import { turnAfter, unlessRefused } from '../../answer/waiting-turn.ts';
import type { ConversationReference, PromptFile } from '../../request.ts';
import type { SentMessage, TurnCaller, TurnsPort } from '../../turns/port.ts';
import { parseBodyObject } from '../body.ts';
import { messagesOf } from '../conversations/routes.ts';
import type { OwnerRoute } from '../tracked.ts';
import { parseResponsesRequest } from './request.ts';

type InputTokensOptions = {
  readonly forOwner: OwnerRoute;
  readonly turns: TurnsPort;
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

type CountedFile = Pick<PromptFile, 'mime' | 'url'>;

/** A file is a `data:` URL in base64: four characters are three bytes, and four bytes about a token. */
const tokensOfFiles = (files: readonly CountedFile[]): number =>
  files.reduce(
    (sum, { mime, url }) => sum + (mime.startsWith('image/') ? IMAGE_TOKENS : Math.ceil((url.length * 3) / 16)),
    0,
  );

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

/** The texts of a message: words, and arguments and results of calls. */
const textsIn = (message: SentMessage): readonly string[] => {
  if (message.role === 'user') return message.parts.flatMap((part) => (part.type === 'text' ? [part.text] : []));
  if (message.role === 'tool') return [message.output];
  return [message.text ?? '', ...(message.calls ?? []).flatMap(({ name, arguments: given }) => [name, given])];
};

/** The messages that a request continues. */
const readStored = async (
  reference: ConversationReference,
  turns: TurnsPort,
  by: TurnCaller,
): Promise<readonly MessageRecord[]> => {
  if (reference.kind === 'unnamed') return [];
  if (reference.kind === 'named') {
    const place = placeOfName(reference.id);
    // A request with a name that no conversation has starts one.
    const found = turns.conversations.find(place, by);
    const known = await ('name' in place ? found.catch(unlessRefused('conversation_not_found')) : found);
    return known === undefined ? [] : messagesOf(turns, known.id, by);
  }
  const { conversationID, promptID } = await turnAfter(reference, turns, by);
  const messages = await messagesOf(turns, conversationID, by);
  const last = messages.findLastIndex(
    ({ info }) => info.id === promptID || (info.role === 'assistant' && info.parentID === promptID),
  );
  return messages.slice(0, last + 1);
};

/**
 * `POST /v1/responses/input_tokens`: an estimate, as the models' own tokenizers are not here. It says that it is one, and refuses
 * what a response would refuse.
 */
export const createInputTokensRoute = (options: InputTokensOptions): RouteTable => {
  const { forOwner, turns, catalog, bodies, runInSlices } = options;
  return {
    '/v1/responses/input_tokens': {
      POST: forOwner(async (request, by) => {
        const body = parseBodyObject(await bodies.readJson(request));
        const hasInput = isGiven(body.input);
        const isSomethingGiven = COUNTED_WITHOUT_INPUT.some((name) => isGiven(body[name]));
        const counted = hasInput || !isSomethingGiven ? body : { ...body, input: '.' };
        const { system, history, input, files, conversation, model } = parseResponsesRequest(counted, request.headers);
        refuseUnsupportedFiles(files, await catalog.find(model));
        const texts = [
          system,
          ...[...history, ...(hasInput ? input : [])].flatMap(textsIn),
          ...[body.tools, body.text].flatMap((given) => (given ? [JSON.stringify(given)] : [])),
        ];
        const stored = await readStored(conversation, turns, by);
        const before = await runInSlices(estimateStored(stored), by.signal);
        const input_tokens = before + tokensOfFiles(files) + (await runInSlices(estimateTokens(texts), by.signal));
        return { object: 'response.input_tokens', input_tokens, gatehouse: { is_estimate: true } };
      }),
    },
  };
};
