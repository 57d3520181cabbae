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
 * Makes a route of a function that takes a signal in place of the request's own. It aborts with a `Fault` when the client disconnects or the
 * bridge stops, and the bridge waits for the route before it stops.
 */
export type TrackRequest = (
  handle: (request: Request, params: Params, signal: AbortSignal) => Promise<Response>,
) => (request: Request, params: Params) => Promise<Response>;
