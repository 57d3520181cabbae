import { createNodeHash } from '../../../src/adapter/node/crypto.ts';
import { type ConversationsNeeds, createConversations } from '../../../src/bridge/conversation/conversations.ts';
import { responseIDFor } from '../../../src/bridge/conversation/response-id.ts';
import type { Conversations, LockedConversation, RequestMark } from '../../../src/bridge/conversation/types.ts';
import {
  type BridgeRequest,
  type ConversationReference,
  filesOfParts,
  type HistoryMessage,
} from '../../../src/bridge/request.ts';
import type { LogFields } from '../../../src/core/log.ts';
import { createTimeSlices } from '../../../src/core/time-slices.ts';
import { createFakeClock } from '../../fake-clock.ts';
import { createFakeAgent, type FakeAgent } from '../harness/fake-agent.ts';
import { bridgeCount, roundRobin } from '../harness/round-robin.ts';

export const user = (text: string): HistoryMessage => ({ role: 'user', text });
export const assistant = (text: string): HistoryMessage => ({ role: 'assistant', text });

export const named = (id: string, remembers = false): ConversationReference => ({
  kind: 'named',
  id,
  isIncremental: remembers,
});
export const remembered = (id: string): ConversationReference => named(id, true);
export const after = (responseID: string): ConversationReference => ({ kind: 'after', responseID });

type Given = Partial<BridgeRequest> & { readonly words?: string };

export const asking = ({ words = 'Hello', ...given }: Given = {}): BridgeRequest => ({
  model: undefined,
  system: '',
  history: [],
  prompt: [{ type: 'text', text: words }],
  isStreamed: false,
  effort: undefined,
  isStored: true,
  conversation: { kind: 'unnamed' },
  isBackgroundTask: false,
  approval: undefined,
  ignored: [],
  ...given,
});

/** What an exchange came to: what was asked and told, and where. */
type Reported = {
  readonly sessionID: string;
  readonly name: string;
  readonly replay: readonly HistoryMessage[];
  readonly responseID: string;
};

type ReportOptions = { readonly reported?: string; readonly isStopped?: boolean };

export const never = new AbortController().signal;

/** One bridge after another in front of the same agent; with `BRIDGES`, several at a time behind a round-robin. */
export const createWorld = (given: Partial<ConversationsNeeds> = {}, bridges = bridgeCount()) => {
  const clock = createFakeClock();
  const fake: FakeAgent = createFakeAgent(clock);
  const lines: { readonly event: string; readonly fields: LogFields | undefined }[] = [];
  let tokens = 0;
  const newToken = () => {
    tokens += 1;
    return `token${String(tokens).padStart(7, '0')}abcdefgh`;
  };
  const newResponseID = ({ sessionID }: LockedConversation['session']) => responseIDFor(sessionID, newToken());
  const startOne = (): Conversations =>
    createConversations({
      agent: fake.agent,
      feed: fake.feed,
      features: { takesPromptMetadata: () => false },
      clock,
      newHash: createNodeHash,
      runInSlices: createTimeSlices(clock),
      newToken,
      matching: 'prefix',
      limit: 10_000,
      lifetimeMs: 7 * 24 * 3_600_000,
      queueLimit: 16,
      log: (_level, event, fields) => void lines.push({ event, fields }),
      ...given,
    });
  const start = () => roundRobin([startOne(), ...Array.from({ length: bridges - 1 }, startOne)]);
  let conversations = start();

  /** What several bridges know each other's requests by. One alone needs none. */
  const newMark = (): RequestMark | undefined =>
    bridges === 1 ? undefined : { digest: 'any', token: newToken(), createdSeconds: 0 };
  const hold = async (
    asked: BridgeRequest,
    owner = 'owner',
  ): Promise<LockedConversation & { readonly name: string }> => {
    const placement = await conversations().resolve(asked, owner, never, newMark());
    return { ...(await placement.lock(never)), name: placement.name };
  };
  /** Has the agent answer what is asked, as the bridge does. */
  const exchange = async (
    held: LockedConversation,
    asked: BridgeRequest,
    { reported, isStopped = false }: ReportOptions = {},
  ): Promise<string> => {
    const { sessionID } = held.session;
    const text = asked.prompt.map((part) => (part.type === 'text' ? part.text : '')).join('\n\n');
    if (reported !== undefined) fake.answer = () => reported;
    const replay = JSON.stringify(held.replay);
    const parts = [...(held.replay.length === 0 ? [] : [{ type: 'text' as const, text: replay, synthetic: true }])];
    const rest = { model: undefined, variant: undefined, agent: undefined, system: '', hasTools: true };
    const answer = await fake.agent.prompt(sessionID, { ...rest, parts: [...parts, ...asked.prompt] }, never);
    const promptID = answer.info.role === 'assistant' ? answer.info.parentID : undefined;
    const responseID = newResponseID(held.session);
    const outputText = answer.parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('');
    await held.record({
      promptText: text,
      files: filesOfParts(asked.prompt),
      answerText: outputText,
      responseID,
      promptID,
      isStopped,
      isUnread: false,
      paused: undefined,
    });
    return responseID;
  };
  /** Asks, is answered, and gives the conversation back. */
  const report = async (
    asked: BridgeRequest,
    reporting: ReportOptions & { readonly owner?: string } = {},
  ): Promise<Reported> => {
    const held = await hold(asked, reporting.owner);
    const responseID = await exchange(held, asked, reporting);
    held.release();
    return { sessionID: held.session.sessionID, name: held.name, replay: held.replay, responseID };
  };
  return {
    fake,
    newResponseID,
    newMark,
    clock,
    lines,
    hold,
    exchange,
    report,
    /** Those of the next bridge in turn. */
    conversations: () => conversations(),
    restart() {
      conversations = start();
    },
  };
};
export type World = ReturnType<typeof createWorld>;
