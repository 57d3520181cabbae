import { type AnsweredRequest, createHandler, type Handler } from '../../../../src/core/http/handler.ts';
import { createLog } from '../../../../src/core/log.ts';
import { GATEWAY_ERRORS } from '../../../../src/gateway/errors.ts';
import { createFakeClock } from '../../../fake-clock.ts';

/** A text that no log and no answer may hold. */
export const CANARY = 'canary-4c1d';

/** This handler as a service serves it, with the lines that it logs. */
export const handling = (handler: Handler, onAnswered?: (answered: AnsweredRequest) => void) => {
  const clock = createFakeClock();
  const lines: string[] = [];
  let made = 0;
  const app = createHandler(handler, {
    errors: GATEWAY_ERRORS,
    clock,
    log: createLog({ level: 'debug', service: 'test', clock, write: (line) => lines.push(line) }),
    newId: () => `made-${++made}`,
    routeOf: () => '/things/:id',
    ...(onAnswered === undefined ? {} : { onAnswered }),
  });
  const logged = () => lines.map((line) => JSON.parse(line));
  return { app, clock, lines, logged };
};
/** A handler that gives this response. */
export const answering = (response = new Response('fine')) => handling(async () => response);
/** A handler that throws this. */
export const throwing = (thrown: unknown) =>
  handling(() => {
    throw thrown;
  });
/** A request, with this id if one is given. */
export const asking = (requestId?: string, path = '/things/1'): Request =>
  new Request(`http://gateway.test${path}`, requestId === undefined ? {} : { headers: { 'x-request-id': requestId } });
/** A runtime whose headers let more through than the standard's. */
export const askingRaw = (requestId: string): Request =>
  ({ url: 'http://gateway.test/', method: 'GET', headers: { get: () => requestId } }) as unknown as Request;
