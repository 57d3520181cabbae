import type { RouteTable } from '../../core/http/router.ts';
import type { TurnCaller } from '../turns/port.ts';

/** A request that is being answered. */
export type ActiveRequest = {
  /** Aborts when the client disconnects or the service stops. The reason is always a `Fault`. */
  readonly signal: AbortSignal;
  /** Aborts the signal when the client has disconnected in a way that its request does not show. */
  readonly disconnect: () => void;
  /** To be called once nothing depends on the signal any more. */
  readonly end: () => void;
};

type Params = Readonly<Record<string, string>>;

/**
 * Makes a route of a function that gets a request, its caller and the parameters of its path. It returns a response, or an object that is
 * sent as JSON. The caller's signal aborts with a `Fault` when the client disconnects or the bridge stops; the bridge waits for the
 * route before it stops.
 */
export type OwnerRoute = (
  handle: (request: Request, by: TurnCaller, params: Params) => Promise<object>,
) => RouteTable[string][string];
