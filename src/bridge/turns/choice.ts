import * as v from 'valibot';
import type { Clock } from '../../core/clock.ts';
import { isNotFound } from '../../core/fault.ts';
import type { Log } from '../../core/log.ts';
import type { CallAgent } from '../agent/calls.ts';
import type { ConversationsPort, TurnEvents, TurnsPort } from './port.ts';

/** The name under which our agent server says that it keeps turns. OpenCode's names no features. */
const TURNS_FEATURE = 'turns';
const HealthRecord = v.object({ features: v.fallback(v.array(v.string()), []) });
/** An agent server gets features when another version of it is started. */
const ASK_EVERY_MS = 30_000;

/** Turns that hold something open until they are stopped. */
export type StoppableTurns = TurnsPort & { readonly stop: () => void };

type ChoiceNeeds = {
  readonly callAgent: CallAgent;
  /** For an agent server that keeps turns. */
  readonly own: TurnsPort;
  /** For another one; called once, when there is one. */
  readonly createOther: () => StoppableTurns;
  readonly clock: Clock;
  readonly log: Log;
};

/**
 * The port for the agent server that is there. Asks for its features with the first call, and again half a minute later until it has
 * turns. Each call faults where the server has not been reached yet.
 */
export const createChosenTurns = ({ callAgent, own, createOther, clock, log }: ChoiceNeeds): StoppableTurns => {
  let other: StoppableTurns | undefined;
  let asked: { readonly until: number; readonly port: Promise<TurnsPort> } | undefined;

  const hasTurns = async (): Promise<boolean> => {
    const { signal } = new AbortController();
    try {
      const health = await callAgent({ method: 'GET', path: '/global/health', schema: HealthRecord }, signal);
      return health.features.includes(TURNS_FEATURE);
    } catch (error) {
      // A server of another kind is not asked in vain, and what is known of its turns stays in use while it cannot be reached.
      if (isNotFound(error) || other !== undefined) return false;
      throw error;
    }
  };
  const find = async (): Promise<TurnsPort> => {
    if (await hasTurns()) {
      asked = { until: Number.POSITIVE_INFINITY, port: Promise.resolve(own) };
      return own;
    }
    if (other === undefined) {
      log('warn', 'agent-without-turns');
      other = createOther();
    }
    return other;
  };
  const chosen = (): Promise<TurnsPort> => {
    if (asked === undefined || clock.now() >= asked.until) {
      const port = find();
      const asking = { until: clock.now() + ASK_EVERY_MS, port };
      asked = asking;
      port.catch(() => {
        if (asked === asking) asked = undefined;
      });
    }
    return asked.port;
  };
  const conversations = async (): Promise<ConversationsPort> => (await chosen()).conversations;
  async function* follow(...given: Parameters<TurnsPort['follow']>): TurnEvents {
    yield* (await chosen()).follow(...given);
  }

  return {
    begin: async (...given) => (await chosen()).begin(...given),
    follow,
    read: async (...given) => (await chosen()).read(...given),
    view: async (...given) => (await chosen()).view(...given),
    input: async (...given) => (await chosen()).input(...given),
    turnsOfPart: async (...given) => (await chosen()).turnsOfPart(...given),
    waitingTurns: async (...given) => (await chosen()).waitingTurns(...given),
    leave: async (...given) => (await chosen()).leave(...given),
    cancel: async (...given) => (await chosen()).cancel(...given),
    delete: async (...given) => (await chosen()).delete(...given),
    decide: async (...given) => (await chosen()).decide(...given),
    conversations: {
      create: async (...given) => (await conversations()).create(...given),
      find: async (...given) => (await conversations()).find(...given),
      setMetadata: async (...given) => (await conversations()).setMetadata(...given),
      delete: async (...given) => (await conversations()).delete(...given),
      messages: async (...given) => (await conversations()).messages(...given),
      append: async (...given) => (await conversations()).append(...given),
      deleteMessage: async (...given) => (await conversations()).deleteMessage(...given),
    },
    takesClientTools: async (signal) => (await chosen()).takesClientTools(signal),
    stop() {
      other?.stop();
    },
  };
};
