import { createServiceBudget, type MemoryBounds } from '../../../../src/core/byte-budget.ts';
import { type CoreFault, Fault } from '../../../../src/core/fault.ts';
import { createRequestBodies } from '../../../../src/core/http/request-bodies.ts';
import { createTimeSlices } from '../../../../src/core/time-slices.ts';
import { rejection } from '../../../check.ts';
import { createFakeClock } from '../../../fake-clock.ts';

/** So many bytes are a kilobyte here. */
export const KB = 1000;
/** The largest body that is read here. */
export const LIMIT_BYTES = 100 * KB;
const MEMORY_BYTES = 2000 * KB;

/** The detail of the fault that ends a reading. */
export const faultOf = async (reading: Promise<unknown>): Promise<CoreFault> => {
  const thrown = await rejection(reading);
  if (thrown instanceof Fault) return thrown.detail;
  throw thrown;
};
const textOf = (bytes: number): string => JSON.stringify('x'.repeat(bytes - 2));
/** A request with a body of so many bytes. */
export const postingOf = (bytes: number): Request =>
  new Request('http://service.test/', {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'content-length': String(bytes) },
    body: textOf(bytes),
  });
/** A body without a length. `send` sends a chunk, `end` ends it. */
export const openPosting = () => {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>(undefined, { highWaterMark: 10 });
  const writer = writable.getWriter();
  const request = new Request('http://service.test/', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: readable,
    duplex: 'half',
  } as RequestInit);
  return {
    request,
    async send(text: string) {
      await writer.write(new TextEncoder().encode(text));
      // A stream hands a chunk on over several turns of the event loop.
      for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    },
    end: () => writer.close(),
  };
};
/** A budget for bodies, and the clock of their deadlines. */
export const createBodies = (bounds: Partial<MemoryBounds> = {}) => {
  const clock = createFakeClock();
  const budget = createServiceBudget({
    limitBytes: LIMIT_BYTES,
    memoryBytes: MEMORY_BYTES,
    ...bounds,
  });
  return {
    clock,
    budget,
    bodies: createRequestBodies({ clock, limitBytes: LIMIT_BYTES, budget, runInSlices: createTimeSlices(clock) }),
  };
};
