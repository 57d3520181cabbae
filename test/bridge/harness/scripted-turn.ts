import * as fc from 'fast-check';
import type { AgentEventRecord, MessageInfo, MessageRecord, PartRecord } from '../../../src/bridge/agent/schema.ts';
import {
  assistantInfo,
  completed,
  done,
  more,
  otherPart,
  PENDING,
  reported,
  running,
  shown,
  textPart,
  thoughtPart,
  tokensOf,
  toolPart,
  userInfo,
} from './turn-events.ts';

const words = fc.array(fc.constantFrom('a', 'a', 'b', ' ', '\n', 'é', '👩🏽‍💻'), { maxLength: 6 });

/** What a model does in one step: it thinks, says something, is broken off and begins again, and calls tools. */
const aStep = fc.record({
  thoughts: words,
  brokenOff: fc.option(fc.nat({ max: 4 }), { nil: undefined, freq: 5 }),
  texts: fc.array(words, { maxLength: 2 }),
  calls: fc.nat({ max: 2 }),
  hidden: fc.boolean(),
  rewritesPrompt: fc.boolean(),
  sumsUp: fc.integer({ min: 0, max: 4 }).map((chance) => chance === 0),
});
export const aTurn = fc.array(aStep, { minLength: 1, maxLength: 4 });
type Step = typeof aTurn extends fc.Arbitrary<readonly (infer One)[]> ? One : never;

type TurnWithTexts = {
  readonly events: readonly AgentEventRecord[];
  /** How each text and thought of the answer reads at the end, in order. */
  readonly outputText: readonly string[];
  readonly calls: number;
  readonly promptTokens: number;
  readonly lastID: string;
};

/** The events of a whole turn, after those of one before it. */
export const turnWithTexts = (steps: readonly Step[]): TurnWithTexts => {
  const events: AgentEventRecord[] = [];
  const outputText: string[] = [];
  let made = 0;
  let calls = 0;
  let parentID = 'u1';
  let lastID = '';
  const next = (kind: string): string => {
    made += 1;
    return `${kind}${made}`;
  };
  const appendText = (make: typeof thoughtPart, messageID: string, withText: readonly string[]): string => {
    const id = next('part');
    events.push(shown(make(id, messageID, '')));
    for (const word of withText) events.push(more(id, messageID, word));
    events.push(shown(make(id, messageID, withText.join(''), { isOver: true })));
    return id;
  };
  const receive = (make: typeof thoughtPart, messageID: string, withText: readonly string[]): void => {
    appendText(make, messageID, withText);
    if (withText.length > 0) outputText.push(`${make === textPart ? 'text' : 'reasoning'}: ${withText.join('')}`);
  };
  const sumUp = (): void => {
    const request = next('user');
    const summary = next('answer');
    events.push(reported(userInfo(request)), shown(otherPart(next('part'), request)));
    events.push(reported(assistantInfo(summary, request, { summary: true })));
    appendText(textPart, summary, ['the', ' summary']);
    events.push(reported(completed(summary, request, { summary: true, tokens: tokensOf(999, 9) })));
    parentID = next('user');
    events.push(reported(userInfo(parentID)), shown(textPart(next('part'), parentID, 'Go on', { synthetic: true })));
  };
  const step = (
    { thoughts, brokenOff, texts, calls: asked, hidden, rewritesPrompt, sumsUp }: Step,
    isLast: boolean,
  ) => {
    if (sumsUp) sumUp();
    const messageID = next('answer');
    lastID = messageID;
    events.push(reported(assistantInfo(messageID, parentID)), shown(otherPart(next('part'), messageID)));
    if (rewritesPrompt) events.push(reported(userInfo('u1')), shown(textPart('p1', 'u1', `Pay five ${made}`)));
    if (hidden) events.push(shown(textPart(next('part'), messageID, 'hidden', { synthetic: true })));
    if (brokenOff !== undefined) {
      const [first = []] = texts;
      const id = appendText(textPart, messageID, first.slice(0, brokenOff));
      events.push(shown(textPart(id, messageID, '', { isOver: true })));
    }
    receive(thoughtPart, messageID, thoughts);
    for (const withText of texts) receive(textPart, messageID, withText);
    for (let count = 0; count < asked; count++) {
      const id = next('call');
      calls += 1;
      for (const state of [PENDING, running({ count }), done('seen', { count })])
        events.push(shown(toolPart(id, messageID, state)));
    }
    const tokens = tokensOf(10, 1);
    const finish = isLast ? 'stop' : 'tool-calls';
    events.push(reported(assistantInfo(messageID, parentID, { tokens, finish })));
    events.push(reported(completed(messageID, parentID, { tokens, finish })));
  };
  events.push(reported(userInfo('u1')), shown(textPart('p1', 'u1', 'Pay five')));
  for (const [place, one] of steps.entries()) step(one, place === steps.length - 1);
  return { events, outputText, calls, promptTokens: 10 * steps.length, lastID };
};

/** What an agent lists to whom these events were told. */
export const listedAfter = (events: readonly AgentEventRecord[]): readonly MessageRecord[] => {
  const infos = new Map<string, MessageInfo>();
  const parts = new Map<string, PartRecord>();
  for (const event of events) {
    if (event.type === 'message.updated') infos.set(event.properties.info.id, event.properties.info);
    else if (event.type === 'message.part.updated') parts.set(event.properties.part.id, event.properties.part);
    else if (event.type === 'message.part.delta') {
      const { partID, delta } = event.properties;
      const part = parts.get(partID);
      if (part?.type === 'text' || part?.type === 'reasoning') parts.set(partID, { ...part, text: part.text + delta });
    }
  }
  const partsOf = (id: string) => [...parts.values()].filter(({ messageID }) => messageID === id);
  return [...infos.values()].map((info) => ({ info, parts: partsOf(info.id) }));
};
