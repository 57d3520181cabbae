import * as v from 'valibot';
import { type Channel, createChannel } from '../../../../src/adapter/node/workers/channel.ts';
import { createHub, type Hub, type HubSeat } from '../../../../src/adapter/node/workers/hub.ts';
import {
  ParentNotice,
  ParentQuestion,
  WorkerNotice,
  WorkerQuestion,
} from '../../../../src/adapter/node/workers/messages.ts';
import { createWorkerState, type WorkerState } from '../../../../src/adapter/node/workers/shared-state.ts';
import { MetricFamilies } from '../../../../src/adapter/prometheus/merge.ts';
import { createRateLimit } from '../../../../src/gateway/rate-limit.ts';
import { createFakeClock, type FakeClock } from '../../../fake-clock.ts';

/** A turn of the event loop for what is sent, and another for what is answered. */
export const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 8; turn++) await new Promise((resolve) => setImmediate(resolve));
};

type Ends = { readonly left: Channel; readonly right: Channel; readonly cut: () => void; readonly messages: unknown[] };
type Handlers = Pick<Parameters<typeof createChannel>[0], 'onNotice' | 'onQuestion'>;

/** Two ends of a channel that is not between processes. What is sent takes the way through JSON. */
export const channelPair = (clock: FakeClock, left: Handlers, right: Handlers): Ends => {
  const messages: unknown[] = [];
  let isCut = false;
  const carry = (to: () => Channel) => (message: readonly unknown[], done: () => void) => {
    messages.push(message);
    const text = JSON.stringify(message);
    setImmediate(() => {
      done();
      if (!isCut) to().receive(JSON.parse(text));
    });
  };
  const ends: Ends = {
    left: createChannel({ clock, send: carry(() => ends.right), ...left }),
    right: createChannel({ clock, send: carry(() => ends.left), ...right }),
    messages,
    cut() {
      isCut = true;
    },
  };
  return ends;
};

export type FakeWorker = {
  readonly state: WorkerState;
  readonly registration: HubSeat;
  /** From now on neither end hears the other. */
  readonly cut: () => void;
  /** All that either end has sent. */
  readonly messages: readonly unknown[];
  count: number;
};

/** A counter that has been counted up to `value`, as a worker reports it. */
export const families = (value: number): MetricFamilies =>
  v.parse(MetricFamilies, [
    { name: 'requests_total', help: 'Requests', type: 'counter', values: [{ value, labels: { route: '/' } }] },
  ]);

type World = {
  readonly clock: FakeClock;
  readonly hub: Hub;
  readonly join: () => FakeWorker;
  readonly stop: () => void;
};

/** A hub and as many workers as are wanted, in one process and on one clock. */
export const createWorld = (limit = 0): World => {
  const clock = createFakeClock();
  let isStopping = false;
  const hub = createHub({
    clock,
    rateLimit: createRateLimit(limit, clock.now),
    ownFamilies: async () => families(0),
    policyText: '{"version":"1"}',
    isStopping: () => isStopping,
  });
  return {
    clock,
    hub,
    stop() {
      isStopping = true;
    },
    join() {
      const worker: { count: number } = { count: 0 };
      const pair = channelPair(
        clock,
        {
          onNotice: (given) => registration.onNotice(v.parse(WorkerNotice, given)),
          onQuestion: (given) => registration.onQuestion(v.parse(WorkerQuestion, given)),
        },
        {
          onNotice: (given) => state.onNotice(v.parse(ParentNotice, given)),
          onQuestion(given) {
            const { kind } = v.parse(ParentQuestion, given);
            if (kind === 'state') return state.admin.ownState();
            return kind === 'metrics' ? families(worker.count) : state.onReadyQuestion();
          },
        },
      );
      const registration: HubSeat = hub.join(pair.left);
      const state = createWorkerState({ channel: pair.right, clock, maxVerdicts: 100 });
      registration.onNotice({ kind: 'started' });
      return Object.assign(worker, { state, registration, cut: pair.cut, messages: pair.messages });
    },
  };
};
