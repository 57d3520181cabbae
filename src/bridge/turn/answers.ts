import { pause, untilAborted } from '../../core/async.ts';
import type { Clock } from '../../core/clock.ts';
import { Fault } from '../../core/fault.ts';
import type { Log } from '../../core/log.ts';
import type { RunInSlices } from '../../core/time-slices.ts';
import type { AgentFeatures } from '../agent/features.ts';
import { refuseUnsupportedFiles } from '../agent/file-types.ts';
import { type ModelCatalog, modelNameOf } from '../agent/models.ts';
import type { AgentClient, AgentEventStream, AgentModel } from '../agent/types.ts';
import type { Conversations, Owner } from '../conversation/types.ts';
import { type BridgeRequest, continuesAfter, filesOfRequest } from '../request.ts';
import type { PolledOutput } from '../stream/polled-output.ts';
import type { SessionFamilies, SharedPermissionRequests } from './approvals/permission-requests.ts';
import { toFault } from './failure.ts';
import { readRunning } from './log-reader.ts';
import { type AnswerSettings, createAnswerRunner } from './running-answer.ts';
import { type BegunAnswer, createAnswerBeginning } from './sharing/begin-answer.ts';
import type { RequestIdentity } from './sharing/kept-answers.ts';
import {
  type AnswerHandle,
  createSharedAnswers,
  leftAnswerTimes,
  type SharedAnswerReader,
} from './sharing/shared-answers.ts';
import { forAgent } from './tool-results.ts';

type AnswersNeeds = {
  /** With shared reads: all turns read at the same moment when events are lost. */
  readonly agent: AgentClient;
  readonly feed: AgentEventStream;
  readonly sessionFamilies: SessionFamilies;
  readonly sharedRequests: Pick<SharedPermissionRequests, 'readAfterLoss'>;
  readonly conversations: Conversations;
  readonly catalog: ModelCatalog;
  readonly features: AgentFeatures;
  readonly clock: Clock;
  /** 0 to 1; shortens the wait before a call to the agent is repeated. */
  readonly chance: () => number;
  readonly log: Log;
  readonly newToken: () => string;
  readonly digest: (text: string) => string;
  readonly runInSlices: RunInSlices;
  readonly settings: AnswerSettings;
  /** Of this bridge. */
  readonly version: string;
};

/** An answer as one client reads it. Who reads it again gets the same id and time. */
export type ClientAnswer = {
  readonly conversationName: string;
  /** `provider/key` of the model. */
  readonly model: string;
  /** Names of the model's variants, such as reasoning efforts. */
  readonly variants: readonly string[];
  /** Whether the client's functions have no effect, because the agent takes none. */
  readonly areToolsIgnored: boolean;
  /** Random letters and digits, known before the response's id. */
  readonly token: string;
  readonly createdSeconds: number;
  /** Of the version of this bridge, the agent by its name, and the model as the agent shows it: the same until one of them changes. */
  readonly fingerprint: string;
  /** Resolves once the request's turn in the conversation has come. */
  readonly responseID: () => Promise<string>;
  /** Whether it is a text of the bridge alone, which cannot be read from the agent. Resolves with the response's id. */
  readonly isOfBridge: () => Promise<boolean>;
  /** Read it once, to its end or until `stop`. A reader that stops early counts as disconnected. */
  readonly output: PolledOutput;
  /** The same output for another reader, who counts as none. */
  readonly readAgain: (signal: AbortSignal) => Pick<ClientAnswer, 'output' | 'delivery'>;
  /** Settles once nothing is added to the output. */
  readonly ended: () => Promise<unknown>;
  /** Who sends the answer calls one of them in any case: once the client was sent all of it, or if it will not be. */
  readonly delivery: Pick<SharedAnswerReader<unknown>, 'finish' | 'leave'>;
};

/** What a request takes that starts an answer, beyond the time for which its client reads. Each is given back once. */
export type AnswerReservation = {
  /** The answer has ended. */
  readonly end: () => void;
  /** Nothing holds the request any more. */
  readonly release: () => void;
};

type AnswerRequest = {
  readonly request: BridgeRequest;
  readonly owner: Owner;
  readonly identity: RequestIdentity;
  /** Called if the request starts an answer and joins none. Faults with `overloaded`. */
  readonly reserve: () => AnswerReservation;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
};

export type Answers = {
  /** Faults if the answer fails within a short time. Later failures are output events. */
  readonly start: (request: AnswerRequest) => Promise<ClientAnswer>;
};

type ResolvedAnswer = BegunAnswer & { readonly model: AgentModel };
/** What a request and its retries share. */
type StartedAnswer = {
  readonly resolved: Promise<ResolvedAnswer>;
  /** Undefined once the answer has ended: one that is kept for retries must not keep its request in memory. */
  readonly request: () => BridgeRequest | undefined;
};

/** A failure within this time is answered with an HTTP status. After it, the stream is opened in any case. */
const STATUS_WITHIN_MS = 400;
/** A reader that no one waits for. */
const UNCOUNTED: ClientAnswer['delivery'] = { finish() {}, leave() {} };
const FINGERPRINT_CHARS = 10;

export const createAnswers = (needs: AnswersNeeds): Answers => {
  const {
    agent,
    feed,
    sessionFamilies,
    sharedRequests,
    conversations,
    catalog,
    features,
    clock,
    chance,
    log,
    newToken,
    digest,
    settings,
  } = needs;
  const turn = { agent, feed, sessionFamilies, sharedRequests, clock, chance, log };
  const runAnswer = createAnswerRunner({ turn, settings, runInSlices: needs.runInSlices });
  const { onDisconnect } = settings;
  const beginAnswer = createAnswerBeginning({ conversations, feed, clock, newToken, digest, onDisconnect, runAnswer });
  const shared = createSharedAnswers<StartedAnswer>(clock, onDisconnect, (owner, digestOfRequest) =>
    conversations.isLeftElsewhere(owner, digestOfRequest, leftAnswerTimes(onDisconnect)),
  );

  const resolve = async (
    { request, owner, identity }: AnswerRequest,
    handle: AnswerHandle,
    isKnown: boolean,
  ): Promise<ResolvedAnswer> => {
    const found = await catalog.find(request.model);
    const model = request.isBackgroundTask ? await catalog.findSmall(found) : found;
    refuseUnsupportedFiles(filesOfRequest(request), model);
    // Its client has gone on, so no client comes back for it, and its conversation is needed.
    await shared.endAbandoned(owner, (earlier) => continuesAfter(request, earlier.request()));
    const begun = await beginAnswer({ request, owner, identity, model, handle, isKnown });
    return { ...begun, model };
  };
  const fingerprintOf = (model: AgentModel): string =>
    `fp_${digest(JSON.stringify([needs.version, settings.agentName ?? null, model])).slice(0, FINGERPRINT_CHARS)}`;
  const create = (sent: AnswerRequest, handle: AnswerHandle, isKnown: boolean): StartedAnswer => {
    const reservation = sent.reserve();
    let request: BridgeRequest | undefined = sent.request;
    const end: AnswerHandle['end'] = (result, chars) => {
      request = undefined;
      reservation.end();
      handle.end(result, chars);
    };
    // No function here may use `sent`: what is kept for retries would keep it.
    const resolved = resolve(sent, { ...handle, end }, isKnown);
    resolved.catch(() => end('void'));
    resolved
      .then(({ running }) => running)
      .then(({ released }) => released)
      .then(reservation.release, reservation.release);
    return { resolved, request: () => request };
  };
  return {
    async start(given) {
      const request = await forAgent(given.request, features);
      const areToolsIgnored = request.clientTools === undefined && given.request.clientTools !== undefined;
      const sent = { ...given, request };
      const { signal } = sent;
      const claiming = { ...sent, isBackground: sent.request.isBackground === true };
      const reader = await shared.claim(claiming, (handle, isKnown) => create(sent, handle, isKnown));
      const waiting = new AbortController();
      signal.addEventListener('abort', reader.leave, { once: true });
      try {
        signal.throwIfAborted();
        const answer = await untilAborted(reader.answer.resolved, signal);
        const { conversationName, running, token, createdSeconds } = answer;
        const soon = pause(clock, STATUS_WITHIN_MS, waiting.signal).then(() => undefined);
        const refusal = await untilAborted(Promise.race([running.then((found) => found.refusal()), soon]), signal);
        if (refusal !== undefined) {
          reader.finish();
          throw toFault(refusal);
        }
        const model = modelNameOf(answer.model);
        log('debug', 'answer-begun', { model });
        return {
          conversationName,
          model,
          variants: answer.model.variants,
          areToolsIgnored,
          token,
          createdSeconds,
          fingerprint: fingerprintOf(answer.model),
          responseID: async () => (await running).responseID,
          isOfBridge: async () => (await running).isOfBridge,
          output: readRunning(running, reader, signal),
          readAgain: (again) => ({ output: readRunning(running, UNCOUNTED, again), delivery: UNCOUNTED }),
          ended: async () => (await running).outcome,
          delivery: reader,
        };
      } catch (error) {
        reader.leave();
        throw error;
      } finally {
        waiting.abort(new Fault({ kind: 'client-left' }));
      }
    },
  };
};
